// The payments platform: takes payments, keeps them in its ledger, and announces each on the queue.
//
//   POST /v1/payments             { account, amount } → 201 { payment_id }
//   GET  /v1/ledger/:payment_id   what the ledger knows of a payment

import { randomUUID } from "node:crypto";
import Fastify from "fastify";
import { openQueue } from "./queue-client.mjs";
import { listen } from "../service.mjs";

/** Payments that the ledger keeps; the oldest go first. */
const LEDGER_MAX = 200_000;

const payment = {
  type: "object",
  required: ["account", "amount"],
  properties: { account: { type: "string", minLength: 1, maxLength: 100 }, amount: { type: "integer", minimum: 1 } },
};

const queue = openQueue(process.env.QUEUE_URL);
const ledger = new Map();
const app = Fastify({ forceCloseConnections: true });

app.post("/v1/payments", { schema: { body: payment } }, async (request, reply) => {
  const { account, amount } = request.body;
  const payment_id = randomUUID();
  const at = new Date().toISOString();
  ledger.set(payment_id, { payment_id, account, amount, currency: "EUR", booked_at: at });
  if (ledger.size > LEDGER_MAX) ledger.delete(ledger.keys().next().value);
  const event = { event_id: randomUUID(), event_type: "payment.created", account, resource_id: payment_id, at };
  await queue.send(event);
  return reply.code(201).send({ payment_id });
});

app.get("/v1/ledger/:payment_id", async (request, reply) => {
  const { payment_id } = request.params;
  return ledger.get(payment_id) ?? reply.code(404).send({ error: `the ledger has no payment ${payment_id}` });
});

await listen(app);
