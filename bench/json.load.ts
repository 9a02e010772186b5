// One GET, a check of its status, and one value taken from the JSON body.

import { param, scenario, test, users } from "loadstone";

const target = param.url("target");
const count = param.number("count", { default: 50 });
const time = param.duration("time", { default: "10s" });

const get = scenario("GET", async (user) => {
  const product = await user.get(target, { name: "GET", expect: { status: 200 } });
  if (product.json("$.id") !== 4711) user.fail("another product");
});

export default test({ target, load: get.run(users(count).for(time)) });
