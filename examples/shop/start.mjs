#!/usr/bin/env node
// Starts the shop with a separate PostgreSQL, prints its address, and stops both on Ctrl-C.
//
//   node examples/shop/start.mjs [--port 8080] [--tls]
//
// With --tls it serves HTTPS with a certificate that it generates and writes to a temporary file.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" }, tls: { type: "boolean", default: false } } });

if (!existsSync(join(here, "node_modules"))) {
  console.error("installing the shop's packages (npm ci)");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
}
// Imported here because they need the packages.
const { default: pg } = await import("pg");
const { createService, seedCustomers } = await import("./service.mjs");
const { startDatabase } = await import("../database.mjs");

/** Started parts, to be stopped in reverse order. */
const started = [];
let stopping = false;

async function stop(code) {
  if (stopping) return;
  stopping = true;
  for (const end of started.reverse()) await end();
  process.exit(code);
}
// Registered before any start, so that a signal during the start leaves nothing behind.
process.on("SIGINT", () => stop(0));
process.on("SIGTERM", () => stop(0));

async function start() {
  const database = await startDatabase({ name: "shop" });
  started.push(database.stop);
  await database.ready;
  const pool = new pg.Pool({ connectionString: database.url, max: 10 });
  // If the database closes an idle connection, the service continues, in particular while both are being stopped.
  pool.on("error", (error) => {
    if (!stopping) console.error(`database: ${error.message}`);
  });
  started.push(() => pool.end());
  await pool.query(readFileSync(join(here, "schema.sql"), "utf8"));
  await seedCustomers(pool);

  const tls = flags.tls ? await prepareCertificate() : undefined;
  const service = createService(pool, { tls });
  started.push(() => service.close());
  await service.listen({ host: "127.0.0.1", port: Number(flags.port) });
  const { port } = service.server.address();
  return { address: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`, certificate: tls?.file, database: database.url };
}

async function prepareCertificate() {
  const { makeCertificate } = await import("./certificate.mjs");
  const made = await makeCertificate();
  const folder = mkdtempSync(join(tmpdir(), "loadstone-shop-tls-"));
  started.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "certificate.pem");
  writeFileSync(file, made.cert);
  return { ...made, file };
}

try {
  const { address, certificate, database } = await start();
  console.log(`shop: ${address}`);
  console.log(`database: ${database}`);
  if (certificate) console.log(`certificate: ${certificate}`);
} catch (error) {
  if (!stopping) console.error(`the shop did not start: ${error.message}`);
  await stop(1);
}
