// The shop: a JSON API with bearer tokens over PostgreSQL. It contains nothing for load tests.

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { EventEmitter } from "node:events";
import { promisify } from "node:util";
import Fastify from "fastify";

const CUSTOMERS = 100;
// A small cost (Node's default is 16384), so that log-ins do not dominate a test on one machine.
const SCRYPT_COST = { N: 1024 };

const hashPassword = (password, salt) => promisify(scrypt)(password, salt, 32, SCRYPT_COST);

/** Customers `customer-1` … `customer-100` with the passwords `secret-1` … `secret-100`. */
export async function seedCustomers(pool) {
  const numbers = Array.from({ length: CUSTOMERS }, (_, index) => index + 1);
  await Promise.all(
    numbers.map(async (number) => {
      const salt = randomBytes(16);
      const hash = await hashPassword(`secret-${number}`, salt);
      await pool.query("insert into customers (name, password_salt, password_hash) values ($1, $2, $3)", [`customer-${number}`, salt, hash]);
    }),
  );
}

const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const ORDER = "select o.id::int, o.product_id, p.name as product, o.amount, o.amount * p.price_cents as price_cents, o.state from orders o join products p on p.id = o.product_id";

const loginBody = {
  type: "object",
  required: ["username", "password"],
  properties: { username: { type: "string" }, password: { type: "string" } },
};
const orderBody = {
  type: "object",
  required: ["product_id", "amount"],
  properties: { product_id: { type: "integer", minimum: 1 }, amount: { type: "integer", minimum: 1, maximum: 100 } },
};
const orderId = { type: "object", properties: { id: { type: "integer", minimum: 1 } } };

/** The service over a pool of database connections; with `tls` ({ key, cert }) it uses HTTPS. */
export function createService(pool, { tls } = {}) {
  const app = Fastify({ https: tls, forceCloseConnections: true });

  app.get("/health", async () => ({ status: "ok" }));
  app.get("/products", async () => ({ products: (await pool.query("select id, name, price_cents from products order by id")).rows }));
  app.post("/login", { schema: { body: loginBody } }, async (request, reply) => {
    const customer = await authenticate(pool, request.body);
    if (customer === undefined) return reply.code(401).send({ error: "wrong user name or password" });
    const session = await pool.query("insert into sessions (customer_id) values ($1) returning token", [customer]);
    return { token: session.rows[0].token };
  });
  app.register(async (orders) => addOrders(orders, pool));
  return app;
}

async function authenticate(pool, { username, password }) {
  const found = await pool.query("select id, password_salt, password_hash from customers where name = $1", [username]);
  const customer = found.rows[0];
  if (customer === undefined) return undefined;
  const hash = await hashPassword(password, customer.password_salt);
  return timingSafeEqual(hash, customer.password_hash) ? customer.id : undefined;
}

/** Routes that need a token. */
function addOrders(app, pool) {
  app.decorateRequest("customer", null);
  app.addHook("onRequest", async (request, reply) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const known = new RegExp(UUID).test(token) ? await pool.query("select customer_id from sessions where token = $1", [token]) : { rows: [] };
    if (known.rows.length === 0) return reply.code(401).header("www-authenticate", "Bearer").send({ error: "log in first" });
    request.customer = known.rows[0].customer_id;
  });

  // Notifies watchers of a customer's orders about new ones.
  const news = new EventEmitter().setMaxListeners(0);
  app.get("/orders/events", (request, reply) => {
    reply.hijack();
    const topic = `orders of ${request.customer}`;
    const notify = (order) => reply.raw.write(`id: ${order.id}\nevent: created\ndata: ${JSON.stringify(order)}\n\n`);
    news.on(topic, notify);
    reply.raw.on("close", () => news.off(topic, notify));
    reply.raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).flushHeaders();
  });
  app.get("/orders", async (request) => {
    const found = await pool.query(`${ORDER} where o.customer_id = $1 order by o.id desc limit 20`, [request.customer]);
    return { orders: found.rows };
  });
  app.post("/orders", { schema: { body: orderBody } }, async (request, reply) => {
    const { product_id, amount } = request.body;
    const product = await pool.query("select id from products where id = $1", [product_id]);
    if (product.rows.length === 0) return reply.code(422).send({ error: `there is no product ${product_id}` });
    const made = await pool.query("insert into orders (customer_id, product_id, amount) values ($1, $2, $3) returning id", [request.customer, product_id, amount]);
    const order = await pool.query(`${ORDER} where o.id = $1`, [made.rows[0].id]);
    news.emit(`orders of ${request.customer}`, order.rows[0]);
    return reply.code(201).header("location", `/orders/${order.rows[0].id}`).send(order.rows[0]);
  });
  app.get("/orders/:id", { schema: { params: orderId } }, async (request, reply) => {
    const found = await pool.query(`${ORDER} where o.id = $1 and o.customer_id = $2`, [request.params.id, request.customer]);
    return found.rows[0] ?? reply.code(404).send({ error: `you have no order ${request.params.id}` });
  });
  app.delete("/orders/:id", { schema: { params: orderId } }, async (request, reply) => {
    const gone = await pool.query("delete from orders where id = $1 and customer_id = $2", [request.params.id, request.customer]);
    return gone.rowCount === 1 ? reply.code(204).send() : reply.code(404).send({ error: `you have no order ${request.params.id}` });
  });
}
