#!/usr/bin/env node
// Starts one stack of the benchmark of diagnosis with one fault: its database, the payment provider, the shop. Prints where they listen; stops
// them all on Ctrl-C.
//
//   STACK=node FAULT='{"rowLock":50}' node labs/diagnose/start.mjs        every part on a free port
//   node labs/diagnose/start.mjs --install                               only installs what the stack needs
//   node labs/diagnose/start.mjs --serve                                 one stack after another: each line of input, {"stack":…,"fault":…}, sets
//                                                                        one up in place of the one before; the database server stays

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startDatabase } from "../../examples/database.mjs";
import { Parts } from "../parts.mjs";
import { startProxy } from "./delaying-proxy.mjs";
import { startProgram } from "./program.mjs";
import { flushFile, slowDisk } from "./preload.mjs";
import { STACKS } from "./stacks.mjs";

const here = import.meta.dirname;
/** The role of the service, where its connections are limited. */
const ROLE = "shop_service";
const parts = new Parts();
/** The database server, once a stack has needed it; it ends after the services. */
let database;
parts.add(async () => (await database)?.stop());
// Whoever started it may be killed: what is left behind would be measured with the next stack.
const parent = process.ppid;
setInterval(() => process.ppid === parent || parts.stop(1), 1000).unref();
await parts.run(process.argv.includes("--serve") ? serve : () => start(process.env.STACK ?? "node", JSON.parse(process.env.FAULT || "{}"), parts));

async function serve() {
  let stops = [];
  const stop = async () => {
    const last = stops.reverse();
    stops = [];
    for (const one of last) await one();
  };
  parts.add(stop);
  for await (const line of createInterface({ input: process.stdin })) {
    const { stack, fault } = JSON.parse(line);
    try {
      await stop();
      await start(stack, fault, { add: (one) => stops.push(one) });
    } catch (error) {
      console.log(`failed: ${error.message}`);
    }
  }
  await parts.stop(0);
}

/** Starts a stack; `own.add` is told what stops it. */
async function start(name, settings, own) {
  const stack = STACKS[name];
  if (stack === undefined) throw new Error(`STACK=${name}: expected one of ${Object.keys(STACKS).join(", ")}`);
  stack.install();
  if (process.argv.includes("--install")) process.exit(0);

  rmSync(flushFile, { force: true });
  const environment = { FAULT: JSON.stringify(settings), FLUSH_FILE: flushFile };
  if (stack.database) {
    const url = await startTables(settings);
    environment.DATABASE_URL = await serviceUrl(own, url, settings);
    if (settings.tableLock) await lockRepeatedly(own, url, settings.tableLock);
    console.log(`database: ${url}`);
  }
  const provider = await startProgram(own, ["node", join(here, "provider.mjs")], { environment });
  // A name, where it is to be looked up.
  environment.PROVIDER_URL = `http://${settings.lookup ? "localhost" : "127.0.0.1"}:${provider}`;
  console.log(`provider: http://127.0.0.1:${provider}`);
  const addresses = await stack.start({ parts: own, settings, environment });
  for (const [part, address] of Object.entries(addresses)) console.log(`${part}: ${address}`);
  console.log(`settings: ${name} ${environment.FAULT}`);
}

/** How the service connects: as a role that may have few connections, or through a proxy that delays answers, if that is the fault. */
async function serviceUrl(own, url, { roleConnections, path }) {
  const service = new URL(url);
  if (roleConnections) service.username = ROLE;
  if (path) service.port = await startProxy(own, Number(service.port), path);
  return service.href;
}

/** A session that locks the table of products for so many milliseconds, every so many seconds. */
async function lockRepeatedly(own, url, { every, ms }) {
  const { default: pg } = await import("./node/node_modules/pg/lib/index.js");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const lock = async () => {
    await client.query("begin");
    await client.query("lock table products in access exclusive mode");
    await new Promise((resolve) => setTimeout(resolve, ms));
    await client.query("commit");
  };
  const timer = setInterval(() => lock().catch((error) => console.error(`the lock: ${error.message}`)), every * 1000);
  own.add(async () => {
    clearInterval(timer);
    await client.end();
  });
}

/** A database with the shop's tables; without the index that item looks up products by, and with more of them, if that is the fault. */
async function startTables({ scan, flush, commits, roleConnections }) {
  const { url } = await (database ??= databaseServer());
  const { default: pg } = await import("./node/node_modules/pg/lib/index.js");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Commits wait for the disk only where that is the fault: disks differ.
  await client.query(`alter system set fsync = ${flush || commits ? "on" : "off"}`);
  await client.query("select pg_reload_conf()");
  await client.query("drop schema public cascade; create schema public");
  await client.query(readFileSync(join(here, "schema.sql"), "utf8"));
  await client.query(`drop role if exists ${ROLE}`);
  if (roleConnections) {
    await client.query(`create role ${ROLE} login connection limit ${Number(roleConnections)}; grant usage on schema public to ${ROLE}`);
    await client.query(`grant all on all tables in schema public to ${ROLE}; grant all on all sequences in schema public to ${ROLE}`);
  }
  if (scan) {
    await client.query("drop index products_code");
    await client.query(
      `insert into products select id, 'Q' || id, 'Old product ' || id, 'C' || id % 7, 10, 0 from generate_series(1001, ${Number(scan)}) as id`,
    );
  }
  await client.query("analyze");
  await client.query("checkpoint");
  await client.end();
  return url;
}

async function databaseServer() {
  Object.assign(process.env, slowDisk);
  // What cleans up behind one stack would be measured with the next.
  const server = await startDatabase({ name: "shop", settings: { autovacuum: "off" } });
  for (const name of Object.keys(slowDisk)) delete process.env[name];
  await server.ready;
  return server;
}
