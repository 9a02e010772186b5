// Was it the pool? Buyers loop, their checkouts share a pool of database connections, and an experiment changes its size:
//   loadstone experiment demo
//   loadstone demo --serve      and, in another terminal:      loadstone experiment examples/experiment.load.ts
import { arrivals, knob, param, scenario, test, users } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" });

// The present value first: the others are compared with it, and it is restored at the end.
knob("pool", {
  values: [4, 8],
  apply: (size) => ({ http: `${target}/pool`, method: "PUT", json: { size } }),
  ready: `${target}/health`,
});

const browse = scenario("Browse", async (user) => {
  await user.get("/products", { name: "List products", query: { page: user.random.integer(1, 10) } });
});

const buy = scenario("Buy", async (user) => {
  const cart = (await user.post("/carts", { name: "Create cart" })).json("$.id");
  await user.post(`/carts/${cart}/items`, { name: "Add to cart", json: { product: user.random.integer(1, 200), count: 1 } });
  await user.post("/checkout", { name: "Check out", json: { cart }, expect: { status: 201 } });
});

export default test({
  name: "demo shop",
  target,
  load: [browse.run(arrivals(20).poisson().for("30s")), buy.run(users(12).for("30s"))],
});
