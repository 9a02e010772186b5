// Customers of the example shop: log in, place an order, read it, delete it, list their orders.
//
//   node examples/shop/start.mjs                      (in another terminal; --tls for HTTPS)
//   loadstone run examples/shop.load.ts -p customersPerSecond=20

import { arrivals, failures, param, requests, responseTime, scenario, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" });
const certificate = param.string("certificate", { default: "", help: "PEM file to trust, as `start.mjs --tls` prints it" });
const customersPerSecond = param.number("customersPerSecond", { default: 10, min: 0, help: "new customers per second" });
const runTime = param.duration("runTime", { default: "30s", help: "how long customers arrive" });
const thinkTime = param.delay("thinkTime", { default: "uniform(100ms, 500ms)", help: "pause between two steps of a customer" });

const placeOrder = scenario("Place an order", async (user) => {
  const number = user.random.integer(1, 100);
  const login = await user.post("/login", {
    name: "Log in",
    json: { username: `customer-${number}`, password: `secret-${number}` },
    expect: { status: 200 },
  });
  const auth = { bearer: login.json("$.token") };

  const products = await user.get("/products", { name: "List products" });
  const product = user.random.choice(products.jsonAll("$.products[*].id"));
  await user.pause(thinkTime);

  await user.group("Order and look", async (user) => {
    const created = await user.post("/orders", {
      name: "Create order",
      auth,
      json: { product_id: product, amount: user.random.integer(1, 5) },
      expect: { status: 201, json: { "$.state": "open" } },
    });
    const order = created.json("$.id");
    await user.get(`/orders/${order}`, { name: "Read order", auth, expect: { status: 200, json: { "$.product_id": product } } });
    await user.pause(thinkTime);
    await user.delete(`/orders/${order}`, { name: "Delete order", auth, expect: { status: 204 } });

    const left = await user.get("/orders", { name: "List orders", auth });
    user.check("a deleted order is gone", !left.jsonAll("$.orders[*].id").includes(order));
  });
});

export default test({
  target,
  load: placeOrder.run(arrivals(customersPerSecond).poisson().for(runTime)),
  thresholds: [
    requests("Create order").count.atLeast(1),
    failures().rate.below("1%"),
    responseTime().p95.below("500ms"),
    responseTime("Read order").p99.below("500ms").after("5s"),
  ],
  options: { roots: certificate === "" ? [] : [certificate] },
});
