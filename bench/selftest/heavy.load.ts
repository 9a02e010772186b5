// A script that computes in every iteration (20 ms for a million turns), while all other users of its worker wait.

import { arrivals, param, scenario, test } from "loadstone";

const target = param.url("target");
const length = param.duration("length", { default: "5s" });
const turns = param.number("turns", { default: 1_000_000 });

const compute = scenario("Compute", async (user) => {
  await user.get(target, { name: "GET" });
  let sum = 0;
  for (let i = 0; i < turns; i++) sum = (sum * 31 + i) % 1_000_003;
  if (sum < 0) user.fail("a sum of positive numbers");
});

export default test({ target, load: compute.run(arrivals(15).for(length)) });
