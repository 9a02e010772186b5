// Users that send one request and then idle with an open connection: measures the memory per user.

import { param, scenario, test, users } from "loadstone";

const target = param.url("target");
const count = param.number("count", { default: 1000 });

const idle = scenario("Idle", async (user) => {
  await user.get(target, { name: "GET" });
  await user.pause("1h");
});

export default test({ target, load: idle.run(users(count).for("1h").gracefulStop("0s")) });
