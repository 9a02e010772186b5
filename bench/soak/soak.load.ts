// Everything that could make a generator grow over hours: scripts, feeders, groups, checks, failures, a flow through a stub of this file, observers.
// `cargo xtask soak` runs it, and reads memory, descriptors and lag of the generator's own process from the signals.

import { arrivals, csv, flow, generator, observe, param, rows, scenario, shared, stub, test } from "loadstone";

const target = param.url("target", { help: "a stub that answers JSON" });
const generatorPid = param.number("generator", { help: "the generator's own process, to observe" });
const requestsPerSecond = param.number("rate", { default: 5000, min: 10, help: "requests per second at the target" });
const runTime = param.duration("runTime", { default: "2h" });

const customers = csv<{ name: string; product: string }>("customers.csv");
const nextCustomer = customers.circular();
const anyCustomer = customers.random();
const orderNumbers = generator((n) => ({ id: `order-${n}` }));
const pages = rows(["new", "sale", "classic"]).circular();
const latest = shared<string>("latest", "");

const subscriber = stub.http({ name: "subscriber", delay: "uniform(1ms, 20ms)" });
const delivery = flow("Delivery", { timeout: "1m", drain: "10s" });
subscriber.on("POST /deliveries/:id", (request) => delivery.finish(request.parameters["id"]));

// Five requests per iteration.
const shop = scenario("Shop", async (user) => {
  const { name } = nextCustomer.next();
  user.state["visits"] = Number(user.state["visits"] ?? 0) + 1;
  await user.group("Browse", async () => {
    await user.get(`/pages/${pages.next()}`, { name: "Page", expect: { status: 200 } });
    const answer = await user.get("/products", { name: "Products", query: { customer: name } });
    user.check("has products", Array.isArray(answer.json("$.products")));
    await user.get(`/products/${anyCustomer.next().product}`, { name: "Product" });
  });
  await user.group("Order", async () => {
    const { id } = orderNumbers.next();
    await user.post("/orders", { name: "Create order", json: { id, customer: name, amount: user.random.integer(1, 5) } });
    await user.get(`/orders/${id}`, { name: "Show order" });
    if (user.random.boolean(0.01)) latest.set(id);
  });
});

const deliver = scenario("Deliver", async (user) => {
  const { id } = orderNumbers.next();
  delivery.start(id);
  await user.post(`${subscriber.url}/deliveries/${id}`, { name: "Deliver" });
});

export default test({
  target,
  load: [shop.run(arrivals(requestsPerSecond / 5).for(runTime).maxUsers(2000)), deliver.run(arrivals(20).for(runTime))],
  observe: [
    observe.process({ name: "generator", pid: generatorPid }),
    observe.process({ name: "target", port: Number(new URL(target).port) }),
    observe.host(),
  ],
});
