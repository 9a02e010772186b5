#!/usr/bin/env node
// Starts the lab: PostgreSQL, the queue, the payments platform with its ledger, and the webhook service. Prints where they listen;
// stops them all on Ctrl-C.
//
//   node labs/webhooks/start.mjs [--port 8080]       faults: see settings.mjs
//
// Listens on --port (payments) and the three ports after it (webhooks, PostgreSQL, queue); with --port 0 on any free ones.
// --install only installs what the lab needs from npm and Maven.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDatabase } from "../../examples/database.mjs";
import { installPackages, Parts } from "../parts.mjs";
import { installQueue, startQueue } from "./queue.mjs";
import { readSettings } from "./settings.mjs";

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" }, install: { type: "boolean", default: false } } });
const port = (offset) => (flags.port === "0" ? 0 : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  installPackages(here);
  installQueue();
  if (flags.install) process.exit(0);

  // A random page costs little on the disks of today; with PostgreSQL's default the planner would rather walk over all delivered messages.
  const database = await startDatabase({ name: "webhooks", port: port(2), settings: { random_page_cost: 1.1 } });
  parts.add(database.stop);
  const queue = await startQueue({ port: port(3) });
  parts.add(queue.stop);
  await Promise.all([database.ready, queue.ready]);
  await createTables(database.url);

  const payments = `http://127.0.0.1:${await parts.service(join(here, "payments.mjs"), { PORT: port(0), QUEUE_URL: queue.url })}`;
  const webhooks = `http://127.0.0.1:${await parts.service(join(here, "webhooks.mjs"), {
    PORT: port(1),
    QUEUE_URL: queue.url,
    DATABASE_URL: database.url,
    LEDGER_URL: payments,
  })}`;
  console.log(`payments: ${payments}`);
  console.log(`webhooks: ${webhooks}`);
  console.log(`database: ${database.url}`);
  console.log(`queue: ${queue.url}`);
  console.log(`settings: ${Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ")}`);
});

async function createTables(url) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(readFileSync(join(here, "schema.sql"), "utf8"));
  await client.end();
}
