// Seats in a MySQL or MariaDB server: visitors arrive at a steady rate, and each finds and books a seat in one transaction.
// The test creates its table and drops it.
//
//   loadstone run examples/mysql.load.ts -p database=mysql://app:secret@127.0.0.1:3306/test

import { arrivals, failures, param, responseTime, scenario, setup, teardown, test } from "loadstone";

const database = param.url("database", { default: "mysql://root@127.0.0.1:3306/test", help: "mysql://user:password@host:port/database" });
const perSecond = param.number("perSecond", { default: 100, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

setup(async (user) => {
  const sql = user.sql(database);
  await sql.query("DROP TABLE IF EXISTS loadstone_seats");
  const columns = "id INT AUTO_INCREMENT PRIMARY KEY, price INT, taken BOOLEAN DEFAULT false, KEY (taken, price)";
  const created = await sql.query(`CREATE TABLE loadstone_seats (${columns})`);
  const filled = await sql.query(`INSERT INTO loadstone_seats (price) VALUES ${Array.from({ length: 1000 }, (_, place) => `(${place % 90})`).join(", ")}`);
  if (!created.ok || !filled.ok) throw new Error(created.error ?? filled.error);
});

const book = scenario("Book", async (user) => {
  const sql = user.sql(database);
  const affordable = user.random.integer(10, 90);
  const free = await sql.query("SELECT id, price FROM loadstone_seats WHERE NOT taken AND price < ? LIMIT 10", [affordable], { name: "Free seats" });
  const booked = await sql.transaction(async (open) => {
    const seat = await open.query("SELECT id FROM loadstone_seats WHERE price < ? LIMIT 1 FOR UPDATE SKIP LOCKED", [affordable], { name: "Choose" });
    return (await open.query("UPDATE loadstone_seats SET taken = NOT taken WHERE id = ?", [seat.value], { name: "Take" })).count;
  }, { name: "Book" });
  user.check("it is booked", free.ok && booked.committed && booked.value === 1);
});

teardown((user) => user.sql(database).query("DROP TABLE loadstone_seats"));

export default test({
  load: book.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Free seats").p99.below("20ms"), failures().rate.below("1%")],
});
