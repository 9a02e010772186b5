// 32 concurrent calls per user on one connection, like `h2load -m32`.

import { param, proto, scenario, test, users } from "loadstone";

proto("call.proto");

const target = param.url("target");
const count = param.number("count", { default: 50 });
const time = param.duration("time", { default: "10s" });

const call = scenario("Call", async (user) => {
  const stream = async () => {
    for (let left = 100; left > 0; left--) await user.grpc("bench.v1.Bench/Get", { id: 4711 }, { name: "Get" });
  };
  await Promise.all(Array.from({ length: 32 }, stream));
});

export default test({ target, load: call.run(users(count).for(time)) });
