// Another test over the fleet that the first one ran on: iterations that all agents share, after a set-up whose value all of them know.

import { iterations, param, scenario, setup, test, uniqueId } from "loadstone";

const target = param.url("target", { help: "the server that notes each key" });
const rate = param.number("rate", { default: 80, min: 1, help: "iterations for each second" });
const seconds = param.number("seconds", { default: 6, min: 1, help: "seconds' worth of iterations" });

const session = setup(() => ({ prefix: "second" }));

const use = scenario("Use a key", async (user) => {
  await user.get("/", { name: "Use", query: { n: uniqueId(session.value.prefix) } });
});

export default test({ name: "second", target, load: use.run(iterations(rate * seconds).users(8)) });
