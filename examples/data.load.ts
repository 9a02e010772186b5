// Test data: rows of a CSV file, a body from a template, and values that a set-up prepares for all users.
//
//   node examples/shop/start.mjs                      (in another terminal)
//   loadstone run examples/data.load.ts

import { arrivals, csv, failures, iterations, once, param, scenario, sequence, shared, template, test } from "loadstone";

interface Customer {
  username: string;
  password: string;
  product: string;
}

const ordersPerSecond = param.number("ordersPerSecond", { default: 5, min: 0, help: "orders placed per second" });
const runTime = param.duration("runTime", { default: "20s" });

const customers = csv<Customer>("customers.csv");
const everyCustomer = customers.queue(); // each row once
const anyCustomer = customers.random(); // any row, repeatedly

// All users on all cores share these values. They would not share variables of this file.
const tokens = shared<Record<string, string>>("tokens", {});
const placed = shared<number[]>("placed", []);

const logIn = scenario("Log in", async (user) => {
  const { username, password } = everyCustomer.next();
  const login = await user.post("/login", { name: "Log in", json: { username, password }, expect: { status: 200 } });
  const token = login.json("$.token");
  tokens.update((known) => ({ ...known, [username]: token }));
});

const order = scenario("Order", async (user) => {
  const { username, product } = anyCustomer.next();
  const created = await user.post("/orders", {
    name: "Create order",
    auth: { bearer: tokens.get()[username] ?? "" },
    headers: { "content-type": "application/json" },
    body: template("order.json", { product, amount: user.random.integer(1, 5) }),
    expect: { status: 201, json: { "$.state": "open" } },
  });
  placed.push(created.json("$.id"));
});

const report = scenario("Report", (user) => user.log(`${placed.get().length} orders were placed, the last with the number ${placed.get().at(-1)}`));

export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080", help: "where the shop listens" }),
  load: sequence(
    logIn.run(iterations(customers.length).users(4)),
    order.run(arrivals(ordersPerSecond).for(runTime)),
    report.run(once()),
  ),
  thresholds: [failures().count.equals(0)],
});
