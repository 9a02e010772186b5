// One unary call and a check of its status, without pauses.

import { param, proto, scenario, test, users } from "loadstone";

proto("call.proto");

const target = param.url("target");
const count = param.number("count", { default: 50 });
const time = param.duration("time", { default: "10s" });

const call = scenario("Call", async (user) => {
  await user.grpc("bench.v1.Bench/Get", { id: 4711 }, { name: "Get" });
});

export default test({ target, load: call.run(users(count).for(time)) });
