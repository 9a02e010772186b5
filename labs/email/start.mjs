#!/usr/bin/env node
// Starts the lab: PostgreSQL, Redis, the service that takes content changes, and its Sidekiq workers. Prints where they listen; stops them all
// on Ctrl-C.
//
//   node labs/email/start.mjs [--port 8080]       faults: see settings.mjs
//
// Listens on --port (changes) and the two ports after it (PostgreSQL, Redis); with --port 0 on any free ones.
// The notification API is the load test's: workers call it at API_URL, and send StatsD packets to STATSD.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startDatabase } from "../../examples/database.mjs";
import { freePort } from "../../examples/free-port.mjs";
import { startProgram } from "../diagnose/program.mjs";
import { Parts } from "../parts.mjs";
import { readSettings } from "./settings.mjs";

/** Workers that match and generate. */
const GENERATING = 6;

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" } } });
const port = async (offset) => (flags.port === "0" ? freePort() : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  requireGems();

  const database = await startDatabase({ name: "email", port: await port(1), settings: { shared_preload_libraries: "pg_stat_statements" } });
  parts.add(database.stop);
  await database.ready;
  execFileSync("psql", ["--quiet", "--set=ON_ERROR_STOP=1", database.url], { input: readFileSync(join(here, "schema.sql")), stdio: ["pipe", 2, 2] });
  const redis = await startRedis(await port(2));

  const all = settings.workers + GENERATING;
  const environment = {
    // This Sidekiq calls its Redis client in ways that the client warns of.
    RUBYOPT: "-W0",
    DATABASE_URL: database.url,
    REDIS_URL: `redis://127.0.0.1:${redis}/0`,
    QUERY: settings.query,
    INSERT: settings.insert,
    LIMITER_WORKERS: `${settings.limiter === "all" ? all : settings.workers}`,
  };
  const workers =
    settings.priority === "apart"
      ? [{ threads: settings.workers, queues: ["deliver"] }, { threads: GENERATING, queues: ["match", "generate"] }]
      : [{ threads: settings.workers, queues: ["deliver", "generate", "match"] }];
  for (const { threads, queues } of workers) {
    const command = ["sidekiq", "-r", join(here, "jobs.rb"), "-c", `${threads}`, ...queues.flatMap((queue) => ["-q", queue])];
    await startProgram(parts, command, { environment: { ...environment, POOL: `${threads + 2}` }, folder: here });
  }
  const changes = await port(0);
  await startProgram(parts, ["ruby", join(here, "web.rb")], { environment: { ...environment, POOL: "8", PORT: `${changes}` }, port: changes });

  console.log(`changes: http://127.0.0.1:${changes}`);
  console.log(`database: ${database.url}`);
  console.log(`redis: redis://127.0.0.1:${redis}`);
  console.log(`settings: ${Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ")}`);
});

function requireGems() {
  try {
    execFileSync("ruby", ["-e", "%w[sidekiq active_record activerecord-import pg statsd puma].each { |name| require name }"], { stdio: "ignore" });
  } catch {
    const packages = "ruby-sidekiq ruby-activerecord ruby-activerecord-import ruby-pg ruby-statsd puma redis-server";
    throw new Error(`Ruby or a gem is missing. Debian, Ubuntu: apt-get install ${packages}`);
  }
}

async function startRedis(port) {
  const folder = mkdtempSync(join(tmpdir(), "loadstone-email-"));
  parts.add(() => rmSync(folder, { recursive: true, force: true }));
  return startProgram(parts, ["redis-server", "--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""], { port });
}
