// A script with little computation, like most scenarios.

import { arrivals, param, scenario, test } from "loadstone";

const target = param.url("target");
const length = param.duration("length", { default: "5s" });

const visit = scenario("Visit", async (user) => {
  await user.get(target, { name: "First" });
  await user.pause("20ms");
  await user.get(target, { name: "Second" });
});

export default test({ target, load: visit.run(arrivals(200).for(length)) });
