// The shop's process, its database and this machine, observed while the number of customers grows.
//
//   node examples/shop/start.mjs                      (in another terminal; it prints the database's URL)
//   loadstone run examples/observers.load.ts -p database=postgres://shop@127.0.0.1:40123/postgres

import { arrivals, failures, observe, param, scenario, signal, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" });
const database = param.string("database", { help: "URL of the shop's database, as start.mjs prints it" });
const peak = param.number("peak", { default: 100, min: 1, help: "customers per second at the end" });
const runTime = param.duration("runTime", { default: "1m", help: "duration of the ramp" });

const placeOrder = scenario("Place an order", async (user) => {
  const number = user.random.integer(1, 100);
  const login = await user.post("/login", {
    name: "Log in",
    json: { username: `customer-${number}`, password: `secret-${number}` },
  });
  const auth = { bearer: login.json("$.token") };
  const products = await user.get("/products", { name: "List products" });
  const product = user.random.choice(products.jsonAll("$.products[*].id"));
  await user.post("/orders", { name: "Create order", auth, json: { product_id: product, amount: 1 }, expect: { status: 201 } });
});

export default test({
  target,
  load: placeOrder.run(arrivals.ramp(1, peak).poisson().for(runTime)),
  observe: [
    observe.process({ port: Number(new URL(target).port), name: "shop" }),
    observe.postgres(database),
    observe.sql({ name: "orders", url: database, query: "select count(*) as open from orders where state = 'open'" }),
    observe.host(),
  ],
  thresholds: [failures().rate.below("1%"), signal("shop/cpu").mean.below(0.9), signal("postgres/blocked").max.atMost(5)],
});
