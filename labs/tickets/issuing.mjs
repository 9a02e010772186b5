// The issuing service: channels, their products, tickets, barcodes.
//
//   POST   /v1/channels                { name, products } → 201 { channel }
//   DELETE /v1/channels/:channel
//   GET    /v1/channels/:channel/products                   GET /v1/channels/:channel/products/:product
//   POST   /v1/tickets/create          { product } → 201 { ticketId, state }
//   POST   /v1/tickets/:id/activate                         GET /v1/tickets/:id/barcode → { barcode }

import Fastify from "fastify";
import pg from "pg";
import { listen } from "../service.mjs";
import { createMaker } from "./barcode.mjs";
import { exposeMetrics, watchPool } from "./metrics.mjs";
import { readSettings } from "./settings.mjs";

const { DATABASE_URL, PRIVATE_KEY } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: readSettings(process.env).databaseConnections, application_name: "issuing" });
pool.on("error", (error) => console.error(`database: ${error.message}`));
const withConnection = watchPool(pool);

const makeBarcode = createMaker(PRIVATE_KEY);

const app = Fastify({ forceCloseConnections: true });
exposeMetrics(app);

const byChannel = { type: "object", properties: { channel: { type: "integer" } } };
const byId = { type: "object", properties: { id: { type: "string", format: "uuid" } } };
const channelBody = {
  type: "object",
  required: ["name", "products"],
  properties: { name: { type: "string" }, products: { type: "array", items: { type: "string" }, minItems: 1 } },
};
const createBody = { type: "object", required: ["product"], properties: { product: { type: "string" } } };

app.post("/v1/channels", { schema: { body: channelBody } }, async ({ body }, reply) => {
  const channel = await inTransaction(async (db) => {
    const made = await db.query("insert into channels (name) values ($1) returning id", [body.name]);
    const added = await db.query("insert into channel_products select $1, id from products where id = any($2)", [made.rows[0].id, body.products]);
    return added.rowCount === body.products.length ? made.rows[0].id : undefined;
  });
  return channel === undefined ? reply.code(422).send({ error: "not all of these products exist" }) : reply.code(201).send({ channel });
});

app.delete("/v1/channels/:channel", { schema: { params: byChannel } }, async ({ params }, reply) => {
  const gone = await withConnection((db) => db.query("delete from channels where id = $1", [params.channel]));
  return gone.rowCount === 1 ? reply.code(204).send() : reply.code(404).send({ error: `there is no channel ${params.channel}` });
});

const PRODUCTS = "from products p join channel_products c on c.product = p.id where c.channel = $1";

app.get("/v1/channels/:channel/products", { schema: { params: byChannel } }, async ({ params }) => {
  const found = await withConnection((db) => db.query(`select p.id, p.name ${PRODUCTS} order by p.price_cents`, [params.channel]));
  return { products: found.rows };
});

app.get("/v1/channels/:channel/products/:product", { schema: { params: byChannel } }, async ({ params }, reply) => {
  const found = await withConnection((db) =>
    db.query(`select p.id, p.name, p.price_cents, p.valid_minutes ${PRODUCTS} and p.id = $2`, [params.channel, params.product]),
  );
  return found.rows[0] ?? reply.code(404).send({ error: `channel ${params.channel} sells no ${params.product}` });
});

app.post("/v1/tickets/create", { schema: { body: createBody } }, async ({ body }, reply) => {
  const ticket = await inTransaction(async (db) => {
    const product = await db.query("select id from products where id = $1", [body.product]);
    if (product.rowCount === 0) return undefined;
    const made = await db.query("insert into tickets (product) values ($1) returning id, state", [body.product]);
    await db.query("insert into ticket_events (ticket, kind) values ($1, 'created')", [made.rows[0].id]);
    return made.rows[0];
  });
  if (ticket === undefined) return reply.code(422).send({ error: `there is no product ${body.product}` });
  return reply.code(201).send({ ticketId: ticket.id, state: ticket.state });
});

app.post("/v1/tickets/:id/activate", { schema: { params: byId } }, async ({ params }, reply) => {
  const active = await inTransaction(async (db) => {
    const changed = await db.query("update tickets set state = 'active', activated_at = now() where id = $1 and state = 'created'", [params.id]);
    if (changed.rowCount === 1) await db.query("insert into ticket_events (ticket, kind) values ($1, 'activated')", [params.id]);
    return changed.rowCount === 1;
  });
  return active ? { ticketId: params.id, state: "active" } : reply.code(409).send({ error: `ticket ${params.id} cannot be activated` });
});

app.get("/v1/tickets/:id/barcode", { schema: { params: byId } }, async ({ params }, reply) => {
  const found = await withConnection((db) =>
    db.query(
      "select p.id as product, activated_at + make_interval(mins => valid_minutes) as until from tickets t join products p on p.id = t.product where t.id = $1 and state = 'active'",
      [params.id],
    ),
  );
  if (found.rowCount === 0) return reply.code(409).send({ error: `ticket ${params.id} is not active` });
  const { product, until } = found.rows[0];
  return { ticketId: params.id, barcode: makeBarcode({ ticket: params.id, product, validUntil: until.getTime() }) };
});

function inTransaction(work) {
  return withConnection(async (db) => {
    await db.query("begin");
    try {
      const result = await work(db);
      await db.query("commit");
      return result;
    } catch (error) {
      await db.query("rollback");
      throw error;
    }
  });
}

await listen(app);
