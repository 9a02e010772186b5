// 32 concurrent requests per user on one HTTP/2 connection, like `h2load -m32`.

import { param, scenario, test, users } from "loadstone";

const target = param.url("target");
const count = param.number("count", { default: 50 });
const time = param.duration("time", { default: "10s" });

const get = scenario("GET", async (user) => {
  const stream = async () => {
    for (let left = 100; left > 0; left--) await user.get(target, { name: "GET", expect: { status: 200 } });
  };
  await Promise.all(Array.from({ length: 32 }, stream));
});

export default test({ target, options: { http2: "only" }, load: get.run(users(count).for(time)) });
