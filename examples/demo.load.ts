// The test that `loadstone demo` runs against its built-in shop. To run it against another address:
//   loadstone run examples/demo.load.ts -p target=http://127.0.0.1:8080
import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const target  = param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" });
const runTime = param.duration("runTime", { default: "30s", help: "how long the load lasts" });
const buyers  = param.number("buyers", { default: 130, min: 1, help: "buyers per second at the end of the ramp" });

// Most visitors only browse.
const browse = scenario("Browse", async (user) => {
  const list = await user.get("/products", { name: "List products", query: { page: user.random.integer(1, 10) } });
  const id = user.random.choice(list.jsonAll("$.products[*].id"));
  await user.pause("uniform(100ms, 300ms)");
  await user.get(`/products/${id}`, { name: "Show product", expect: { json: { "$.id": id } } });
  if (user.random.boolean(0.3)) {
    await user.get("/search", { name: "Search", query: { q: "lantern" } });
  }
});

// Some buy. Their number grows until the shop reaches a limit.
const buy = scenario("Buy", async (user) => {
  const cart = (await user.post("/carts", { name: "Create cart" })).json("$.id");
  await user.post(`/carts/${cart}/items`, { name: "Add to cart", json: { product: user.random.integer(1, 200), count: 1 } });
  const order = await user.post("/checkout", { name: "Check out", json: { cart }, expect: { status: 201 } });
  user.check("order is paid", order.json("$.status", "none") === "paid");
});

export default test({
  name: "demo shop",
  target,
  load: [browse.run(arrivals(20).poisson().for(runTime)), buy.run(arrivals.ramp(10, buyers).for(runTime))],
  thresholds: [
    responseTime("Show product").p95.below("50ms"),
    responseTime("Check out").p95.below("250ms"),
    failures().rate.below("1%"),
  ],
});
