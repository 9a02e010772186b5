// One GET and a check of its status, without pauses: the usual minimum of a scripted test.

import { param, scenario, test, users } from "loadstone";

const target = param.url("target");
const count = param.number("count", { default: 50 });
const time = param.duration("time", { default: "10s" });

const get = scenario("GET", async (user) => {
  await user.get(target, { name: "GET", expect: { status: 200 } });
});

export default test({ target, load: get.run(users(count).for(time)) });
