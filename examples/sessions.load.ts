// Closed load: a fixed number of customers. Each logs in once, keeps its token, and returns at a steady pace.
//
//   node examples/shop/start.mjs                      (in another terminal)
//   loadstone run examples/sessions.load.ts -p customers=50

import { checks, groupTime, param, responseTime, scenario, test, users } from "loadstone";
import type { Auth, User } from "loadstone";

const customers = param.number("customers", { default: 20, min: 1, help: "customers at the same time" });
const runTime = param.duration("runTime", { default: "30s" });

/** A step for several scenarios: an ordinary function. */
async function session(user: User): Promise<Auth> {
  if (user.state.token === undefined) {
    const number = (user.number % 100) + 1;
    const login = await user.post("/login", { name: "Log in", json: { username: `customer-${number}`, password: `secret-${number}` } });
    user.state.token = login.json("$.token");
  }
  return { bearer: user.state.token };
}

const comeBack = scenario("Come back", async (user) => {
  const auth = await session(user);
  for await (const visit of user.pace({ every: "2s", times: 5 })) {
    await user.group("Front page", async (user) => {
      const [products, orders] = await Promise.all([
        user.get("/products", { name: "List products" }),
        user.get("/orders", { name: "List orders", auth }),
      ]);
      user.check("there is something to buy", products.jsonAll("$.products[?@.price_cents < 1000]").length > 0);
      if (visit === 0 && orders.json("$.orders").length === 0) user.log("a new customer");
    });
    await user.pause("exponential(200ms)");
  }
});

export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" }),
  load: comeBack.run(users.ramp(0, customers).for("10s").then(users(customers).for(runTime)).gracefulStop("5s")),
  thresholds: [groupTime("Front page").p95.below("300ms"), responseTime("List orders").p99.below("200ms").after("10s"), checks().failed.count.equals(0)],
});
