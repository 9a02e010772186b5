// The shop's database without the shop: looks up products, writes and reads orders in one transaction.
//
//   node examples/shop/start.mjs                      (in another terminal; it prints the database's URL)
//   loadstone run examples/sql.load.ts -p database=postgres://shop@127.0.0.1:40123/postgres

import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const database = param.url("database", { default: "postgres://shop@127.0.0.1:5432/postgres", help: "postgres://user:password@host:port/database" });
const perSecond = param.number("perSecond", { default: 100, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

const order = scenario("Order", async (user) => {
  const sql = user.sql(database);
  const products = await sql.query("SELECT id, name, price_cents FROM products WHERE price_cents < $1 ORDER BY id LIMIT 20", [100_000], {
    name: "List products",
  });
  if (!products.ok || products.rows.length === 0) return;
  const product = user.random.choice(products.rows);
  const customer = user.random.integer(1, 100);
  const placed = await sql.transaction(async (open) => {
    const added = await open.query("INSERT INTO orders (customer_id, product_id, amount) VALUES ($1, $2, $3) RETURNING id", [customer, product.id, 1], {
      name: "Create order",
    });
    const found = await open.query("SELECT product_id, state FROM orders WHERE id = $1", [added.value], { name: "Read order" });
    return found.row;
  }, { name: "Order" });
  user.check("it is there", placed.committed && placed.value?.product_id === product.id && placed.value.state === "open");
});

export default test({
  load: order.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("List products").p99.below("20ms"), failures().rate.below("1%")],
});
