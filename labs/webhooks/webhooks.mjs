// The webhook service: subscriptions and the history of deliveries as an API, and the matching and sending behind them.
//
//   POST   /v1/subscriptions                  { account, event_type, url } → 201 { id }
//   DELETE /v1/subscriptions?url=…            all to URLs that begin so, with what is still to be sent to them
//   GET    /v1/subscriptions/:id/deliveries   newest first, with their attempts

import Fastify from "fastify";
import pg from "pg";
import { listen } from "../service.mjs";
import { matchEvents } from "./matching.mjs";
import { startSenders } from "./sending.mjs";
import { readSettings } from "./settings.mjs";

const { DATABASE_URL, QUEUE_URL, LEDGER_URL } = process.env;
const settings = readSettings(process.env);

const subscription = {
  type: "object",
  required: ["account", "event_type", "url"],
  properties: {
    account: { type: "string", minLength: 1, maxLength: 100 },
    event_type: { type: "string", minLength: 1, maxLength: 100 },
    url: { type: "string", pattern: "^http://" },
  },
};
const byUrl = { type: "object", required: ["url"], properties: { url: { type: "string", minLength: 1 } } };
const byId = { type: "object", properties: { id: { type: "string", format: "uuid" } } };

const HISTORY = `
  select d.id, d.event_id, d.state, d.created_at, d.body -> 'resource_id' as resource_id,
         coalesce(jsonb_agg(to_jsonb(a) - 'delivery' order by a.number) filter (where a.number is not null), '[]') as attempts
  from deliveries d left join attempts a on a.delivery = d.id
  where d.subscription = $1
  group by d.id order by d.created_at desc limit 50`;

/** Connections under a name that the database shows. Those of the API and the matching are apart, so that busy senders take none of theirs. */
function connect(name, max) {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max, application_name: name });
  pool.on("error", (error) => console.error(`database: ${error.message}`));
  return pool;
}

const pool = connect("webhooks", 5);
const app = Fastify({ forceCloseConnections: true });

app.post("/v1/subscriptions", { schema: { body: subscription } }, async (request, reply) => {
  const { account, event_type, url } = request.body;
  const made = await pool.query("insert into subscriptions (account, event_type, url) values ($1, $2, $3) returning id", [account, event_type, url]);
  return reply.code(201).send({ id: made.rows[0].id });
});
app.delete("/v1/subscriptions", { schema: { querystring: byUrl } }, async (request) => {
  const gone = await pool.query("delete from subscriptions where starts_with(url, $1)", [request.query.url]);
  return { deleted: gone.rowCount };
});
app.get("/v1/subscriptions/:id/deliveries", { schema: { params: byId } }, async (request) => {
  return { deliveries: (await pool.query(HISTORY, [request.params.id])).rows };
});

await startSenders({ pool: connect("senders", settings.senders), settings });
matchEvents({ pool, queueUrl: QUEUE_URL, ledgerUrl: LEDGER_URL });
await listen(app);
