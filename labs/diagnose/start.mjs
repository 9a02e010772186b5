#!/usr/bin/env node
// Starts one stack of the benchmark of diagnosis with one fault: its database, the payment provider, the shop. Prints where they listen; stops
// them all on Ctrl-C.
//
//   STACK=node FAULT='{"rowLock":50}' node labs/diagnose/start.mjs        every part on a free port
//   node labs/diagnose/start.mjs --install                               only installs what the stack needs

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startDatabase } from "../../examples/database.mjs";
import { Parts } from "../parts.mjs";
import { startProgram } from "./program.mjs";
import { STACKS } from "./stacks.mjs";

const here = import.meta.dirname;
const parts = new Parts();
// Whoever started it may be killed: what is left behind would be measured with the next stack.
const parent = process.ppid;
setInterval(() => process.ppid === parent || parts.stop(1), 1000).unref();
await parts.run(async () => {
  const name = process.env.STACK ?? "node";
  const settings = JSON.parse(process.env.FAULT || "{}");
  const stack = STACKS[name];
  if (stack === undefined) throw new Error(`STACK=${name}: expected one of ${Object.keys(STACKS).join(", ")}`);
  stack.install();
  if (process.argv.includes("--install")) process.exit(0);

  const environment = { FAULT: JSON.stringify(settings) };
  if (stack.database) {
    environment.DATABASE_URL = await startTables(settings);
    console.log(`database: ${environment.DATABASE_URL}`);
  }
  environment.PROVIDER_URL = `http://127.0.0.1:${await startProgram(parts, ["node", join(here, "provider.mjs")], { environment })}`;
  console.log(`provider: ${environment.PROVIDER_URL}`);
  const addresses = await stack.start({ parts, settings, environment });
  for (const [part, address] of Object.entries(addresses)) console.log(`${part}: ${address}`);
  console.log(`settings: ${name} ${environment.FAULT}`);
});

/** A database with the shop's tables; without the index that item looks up products by, and with more of them, if that is the fault. */
async function startTables({ scan }) {
  const database = await startDatabase({ name: "shop", settings: { fsync: "off" } });
  parts.add(database.stop);
  await database.ready;
  const { default: pg } = await import("./node/node_modules/pg/lib/index.js");
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(readFileSync(join(here, "schema.sql"), "utf8"));
  if (scan) {
    await client.query("drop index products_code");
    await client.query(
      `insert into products select id, 'Q' || id, 'Old product ' || id, 'C' || id % 7, 10, 0 from generate_series(1001, ${Number(scan)}) as id`,
    );
  }
  await client.query("analyze");
  await client.end();
  return database.url;
}
