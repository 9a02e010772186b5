// From messages to subscribers: senders that each take one pending message, POST it, and record the attempt.
//
// A sender keeps its message's row locked, in an open transaction, until the subscriber has responded: a sender that dies gives the
// message back, and no message is sent by two at once. What that costs is what this lab is about.

import { Agent as HttpAgent, request as httpRequest } from "node:http";

/** A sender that found nothing to do looks again after half to one and a half of this. */
const IDLE_MS = 200;
const TIMEOUT_MS = 10_000;
const ATTEMPTS_MAX = 8;
const BACKOFF_MAX_S = 60;

/** Starts the senders; they work until the process ends. `pool` must have a connection for each of them. */
export async function startSenders({ pool, settings }) {
  // The index comes with the clause that needs it: a query without an order is free to use it all the same.
  if (settings.ordered) await pool.query("create index if not exists deliveries_by_age on deliveries (created_at) where state = 'pending'");
  const pick = pickStatement(settings);
  const agent = new HttpAgent({ keepAlive: true, maxSockets: settings.connections });
  for (let sender = 0; sender < settings.senders; sender++) void sendForEver({ pool, pick, agent });
}

function pickStatement({ ordered, skipLocked }) {
  return `
    select d.id, d.body, d.attempts, s.url
    from deliveries d join subscriptions s on s.id = d.subscription
    where d.state = 'pending' and d.due_at <= now()
    ${ordered ? "order by d.created_at" : ""}
    limit 1
    for update of d ${skipLocked ? "skip locked" : ""}`;
}

async function sendForEver(parts) {
  for (;;) {
    let found = false;
    try {
      found = await sendOne(parts);
    } catch (error) {
      console.error(`sending: ${error.message}`);
    }
    if (!found) await new Promise((resolve) => setTimeout(resolve, IDLE_MS * (0.5 + Math.random())));
  }
}

/** Takes one message and delivers it. False when none was there. */
async function sendOne({ pool, pick, agent }) {
  const connection = await pool.connect();
  let broken;
  try {
    await connection.query("begin");
    const { rows } = await connection.query(pick);
    if (rows.length === 1) await attempt(connection, agent, rows[0]);
    await connection.query("commit");
    return rows.length === 1;
  } catch (error) {
    broken = error;
    throw error;
  } finally {
    // With an error the pool closes the connection, and with it the transaction.
    connection.release(broken);
  }
}

async function attempt(connection, agent, message) {
  const pickedAt = new Date();
  const { status, error } = await post(agent, message.url, message.body);
  const number = message.attempts + 1;
  const delivered = status >= 200 && status < 300;
  const state = delivered ? "delivered" : number >= ATTEMPTS_MAX ? "failed" : "pending";
  const backoff = Math.min(2 ** number, BACKOFF_MAX_S);
  await connection.query(
    "update deliveries set state = $2, attempts = $3, due_at = clock_timestamp() + make_interval(secs => $4) where id = $1",
    [message.id, state, number, delivered ? 0 : backoff],
  );
  await connection.query("insert into attempts (delivery, number, picked_at, ended_at, status, error) values ($1, $2, $3, $4, $5, $6)", [
    message.id,
    number,
    pickedAt,
    new Date(),
    status,
    error,
  ]);
}

/** POSTs JSON. Never rejects: what went wrong is in `error`. */
function post(agent, url, value) {
  return new Promise((resolve) => {
    const body = JSON.stringify(value);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    // The time limit runs from when the request has its connection: the wait for one is the pool's.
    const request = httpRequest(url, { method: "POST", agent, headers, timeout: TIMEOUT_MS }, (response) => {
      response.resume();
      response.once("end", () => resolve({ status: response.statusCode }));
      response.once("error", (error) => resolve({ error: error.message }));
    });
    request.once("timeout", () => request.destroy(new Error(`no response within ${TIMEOUT_MS} ms`)));
    request.once("error", (error) => resolve({ error: error.message }));
    request.end(body);
  });
}
