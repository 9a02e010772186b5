// Customers who watch their orders: a stream of server-sent events reports each customer's new orders.
//
//   node examples/shop/start.mjs                      (in another terminal)
//   loadstone run examples/events.load.ts -p customers=50

import { checks, failures, param, responseTime, scenario, secret, test, users } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" });
const certificate = param.string("certificate", { default: "", help: "PEM file to trust, as `start.mjs --tls` prints it" });
// The shop knows a hundred; two with the same name would receive each other's orders.
const customers = param.number("customers", { default: 20, min: 1, max: 100, help: "customers at the same time" });
const runTime = param.duration("runTime", { default: "30s" });

const watch = scenario("Watch orders", async (user) => {
  const number = user.number + 1;
  const login = await user.post("/login", { name: "Log in", json: { username: `customer-${number}`, password: `secret-${number}` } });
  // No output shows the token.
  const auth = { bearer: secret(login.json("$.token")) };
  const news = await user.events("/orders/events", { name: "Watch", auth });

  for await (const _ of user.pace({ every: "1s", times: 10 })) {
    // The wait begins with the order, so its time is the delay of the event.
    const [event, created] = await Promise.all([
      news.receive({ name: "Order event", within: "5s" }),
      user.post("/orders", { name: "Create order", auth, json: { product_id: 1, amount: user.random.integer(1, 5) }, expect: { status: 201 } }),
    ]);
    user.check("event of this order", event.event === "created" && event.json("$.id") === created.json("$.id"));
  }
});

export default test({
  target,
  load: watch.run(users(customers).for(runTime)),
  thresholds: [responseTime("Order event").p95.below("300ms"), failures().count.equals(0), checks().failed.count.equals(0)],
  options: { roots: certificate === "" ? [] : [certificate] },
});
