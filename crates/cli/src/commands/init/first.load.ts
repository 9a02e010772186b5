import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

// What can be changed without editing the file:  loadstone run first.load.ts -p rate=20 -p runTime=1m
const target  = param.url("target", { default: "http://127.0.0.1:8080", help: "the system under test" });
const rate    = param.number("rate", { default: 5, min: 0, help: "new visitors per second" });
const runTime = param.duration("runTime", { default: "10s", help: "how long the load lasts" });

// What one visitor does.
const visit = scenario("Visit", async (user) => {
  const home = await user.get("/", { name: "Home", expect: { within: "2s" } });
  user.check("home has a body", home.text.length > 0);
  await user.pause("uniform(200ms, 800ms)");
  await user.get("/", { name: "Home again" });
});

export default test({
  target,
  load: visit.run(arrivals(rate).for(runTime)),
  thresholds: [responseTime().p95.below("500ms"), failures().rate.below("1%")],
});
