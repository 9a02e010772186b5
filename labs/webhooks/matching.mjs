// From payment events to messages: polls the queue, matches each event against the subscriptions, fetches the payment from the ledger,
// and writes one pending message for each subscriber.

import { openQueue } from "./queue-client.mjs";

/** Polls that run side by side. */
const POLLS = 2;
const PAUSE_AFTER_ERROR_MS = 1000;

/** Polls until the process ends. */
export function matchEvents({ pool, queueUrl, ledgerUrl }) {
  const queue = openQueue(queueUrl);
  for (let poll = 0; poll < POLLS; poll++) void pollForEver({ pool, queue, ledgerUrl });
}

async function pollForEver(parts) {
  for (;;) {
    try {
      await pollOnce(parts);
    } catch (error) {
      // What was received and not deleted comes again when its visibility timeout is over.
      console.error(`matching: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
    }
  }
}

async function pollOnce({ pool, queue, ledgerUrl }) {
  const messages = await queue.receive();
  if (messages.length === 0) return;
  await Promise.all(messages.map((message) => match(pool, ledgerUrl, JSON.parse(message.Body))));
  await queue.remove(messages);
}

async function match(pool, ledgerUrl, event) {
  const { rows: subscriptions } = await pool.query("select id from subscriptions where account = $1 and event_type = $2", [
    event.account,
    event.event_type,
  ]);
  if (subscriptions.length === 0) return;
  const details = await fetch(`${ledgerUrl}/v1/ledger/${event.resource_id}`);
  if (!details.ok) throw new Error(`the ledger returned ${details.status} for payment ${event.resource_id}`);
  const body = { event_id: event.event_id, event_type: event.event_type, resource_id: event.resource_id, payment: await details.json() };
  await pool.query(
    "insert into deliveries (subscription, event_id, body) select unnest($1::uuid[]), $2, $3 on conflict do nothing",
    [subscriptions.map(({ id }) => id), event.event_id, body],
  );
}
