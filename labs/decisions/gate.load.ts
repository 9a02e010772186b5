// The gate of a release: 99.9 % of the decisions within 10 ms. Exit code 0: it passes; 3: it does not; 4: the measurement cannot tell.
//
//   loadstone run labs/decisions/gate.load.ts --junit gate.xml

import { arrivals, failures, param, random, responseTime, scenario, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8081", help: "the service" });
const rate = param.number("rate", { default: 300, min: 1, help: "decisions per second: above today's" });
const runTime = param.duration("runTime", { default: "10m", help: "long enough for what fills up slowly" });

const decide = scenario("Decide", async (user) => {
  const json = { customer: `customer-${random.integer(1, 100_000)}`, experiment: "new checkout" };
  await user.post("/v1/decisions", { name: "Decide", json, expect: { status: 200 } });
});

export default test({
  target,
  load: decide.run(arrivals(rate).for(runTime)),
  thresholds: [responseTime("Decide").p999.below("10ms"), failures().rate.equals(0)],
});
