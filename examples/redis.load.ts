// Carts in a Redis server: visitors arrive at a steady rate, and each writes, reads and orders a cart in one pipeline.
//
//   redis-server --port 6380 --save ''
//   loadstone run examples/redis.load.ts -p redis=redis://127.0.0.1:6380/0

import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const server = param.url("redis", { default: "redis://127.0.0.1:6379/0", help: "redis://user:password@host:port/database; rediss:// for TLS" });
const perSecond = param.number("perSecond", { default: 200, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

const cart = scenario("Cart", async (user) => {
  const redis = user.redis(server);
  const key = `loadstone:cart:${user.random.integer(1, 10_000)}`;
  await redis.command("SET", key, "3 tickets", "EX", 60, { name: "Fill cart" });
  const read = await redis.command("GET", key, { name: "Read cart" });
  user.check("it is there", typeof read.value === "string");
  await redis.pipeline([["INCR", "loadstone:orders"], ["EXPIRE", "loadstone:orders", 60]], { name: "Order" });
});

export default test({
  load: cart.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Read cart").p99.below("10ms"), failures().rate.below("1%")],
});
