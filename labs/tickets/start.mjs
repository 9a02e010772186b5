#!/usr/bin/env node
// Starts the lab: PostgreSQL, the issuing service and the validation service. Prints where they listen; stops them all on Ctrl-C.
//
//   node labs/tickets/start.mjs [--port 8080]        faults: see settings.mjs
//
// Listens on --port (issuing) and the two ports after it (validation, PostgreSQL); with --port 0 on any free ones.

import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDatabase } from "../../examples/database.mjs";
import { installPackages, Parts } from "../parts.mjs";
import { relay } from "./distance.mjs";
import { readSettings } from "./settings.mjs";

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" } } });
const port = (offset) => (flags.port === "0" ? 0 : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  installPackages(here);

  const database = await startDatabase({ name: "tickets", port: port(2) });
  parts.add(database.stop);
  await database.ready;
  await createTables(database.url);
  const { publicKey, privateKey } = generateKeyPairSync("ed25519", {
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });

  const distant = await startRelay(new URL(database.url));
  const issuing = await parts.service(join(here, "issuing.mjs"), { PORT: port(0), DATABASE_URL: distant, PRIVATE_KEY: privateKey });
  const validation = await parts.service(join(here, "validation.mjs"), { PORT: port(1), DATABASE_URL: distant, PUBLIC_KEY: publicKey });
  console.log(`issuing: http://127.0.0.1:${issuing}`);
  console.log(`validation: http://127.0.0.1:${validation}`);
  console.log(`database: ${database.url}`);
  console.log(`settings: ${Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ")}`);
});

/** Puts the database a little away from the services; gives back its address as they see it. */
async function startRelay(url) {
  const server = createServer();
  relay(server, Number(url.port));
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  parts.add(() => server.close());
  return Object.assign(new URL(url), { port: server.address().port }).href;
}

async function createTables(url) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(readFileSync(join(here, "schema.sql"), "utf8"));
  await client.end();
}
