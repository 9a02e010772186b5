// Rows over a fleet: each arrival takes one, and no two may take the same.
//
//   cargo xtask lab fleet

import { arrivals, param, rows, scenario, test } from "loadstone";

const target = param.url("target", { help: "the server that notes each row" });
const rate = param.number("rate", { default: 80, min: 1, help: "rows per second" });
const seconds = param.number("seconds", { default: 25, min: 1, help: "how long they are used" });

const numbers = rows(Array.from({ length: 2 * rate * seconds }, (_, n) => ({ n }))).queue();

const use = scenario("Use a row", async (user) => {
  await user.get("/", { name: "Use", query: { n: numbers.next().n } });
});

export default test({ target, load: use.run(arrivals(rate).for(`${seconds}s`)) });
