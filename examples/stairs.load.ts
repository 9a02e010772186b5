// How much can it take? Rates rise in steps. The run ends as soon as responses are too slow.
//
//   node examples/shop/start.mjs                      (in another terminal)
//   loadstone run examples/stairs.load.ts -p to=400

import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const from = param.number("from", { default: 20, min: 1, help: "requests per second on the lowest step" });
const to = param.number("to", { default: 100, min: 1, help: "requests per second on the highest step" });
const each = param.duration("each", { default: "10s", help: "duration of a step" });

const browse = scenario("Browse", (user) => user.get("/products", { name: "List products", expect: { within: "2s" } }));

export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" }),
  load: browse.run(arrivals.steps({ from, to, by: 20 }).poisson().each(each).maxUsers(500)),
  thresholds: [responseTime().p95.below("250ms").over("5s").abortEarly(), failures().rate.below("1%")],
});
