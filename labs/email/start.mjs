#!/usr/bin/env node
// Starts the lab: PostgreSQL, Redis, the service that takes content changes, and its Sidekiq workers. Prints where they listen; stops them all
// on Ctrl-C.
//
//   node labs/email/start.mjs [--port 8080]       faults: see settings.mjs
//
// Listens on --port (changes) and the two ports after it (PostgreSQL, Redis); with --port 0 on any free ones.
// The notification API is the load test's: workers call it at API_URL, and send StatsD packets to STATSD. --install only installs Debian's packages.

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
/** Of Debian. */
const PACKAGES = ["ruby-sidekiq", "ruby-activerecord", "ruby-activerecord-import", "ruby-pg", "ruby-statsd", "puma", "redis-server", "postgresql"];

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" }, install: { type: "boolean", default: false } } });
const port = (offset) => freePort(flags.port === "0" ? 0 : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  if (flags.install) installPackages();
  requirePackages();
  if (flags.install) process.exit(0);

  const all = settings.workers + GENERATING;
  const database = await startDatabase({
    name: "email",
    port: await port(1),
    // One connection for each worker, and what web server and observers need beside them.
    settings: { shared_preload_libraries: "pg_stat_statements", max_connections: `${100 + all}` },
  });
  parts.add(database.stop);
  await database.ready;
  execFileSync("psql", ["--quiet", "--set=ON_ERROR_STOP=1", database.url], { input: readFileSync(join(here, "schema.sql")), stdio: ["pipe", 2, 2] });
  const redis = await startRedis(await port(2));

  const environment = {
    // This Sidekiq calls its Redis client in ways that the client warns of.
    RUBYOPT: "-W0",
    DATABASE_URL: database.url,
    REDIS_URL: `redis://127.0.0.1:${redis}/0`,
    QUERY: settings.query,
    INSERT: settings.insert,
    API_LIMIT: `${settings.limit}`,
    LIMITER_WORKERS: `${settings.limiter === "all" ? all : settings.workers}`,
  };
  for (const { threads, queues } of workers(settings)) {
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

/** Processes of Sidekiq, each with its threads and the queues that it takes from, the first one first. */
function workers({ layers, priority, workers }) {
  if (layers !== "all") return [{ threads: layers === "deliver" ? workers : GENERATING, queues: [layers] }];
  return priority === "apart"
    ? [{ threads: workers, queues: ["deliver"] }, { threads: GENERATING, queues: ["match", "generate"] }]
    : [{ threads: workers, queues: ["deliver", "generate", "match"] }];
}

function requirePackages() {
  try {
    execFileSync("ruby", ["-e", "%w[sidekiq active_record activerecord-import pg statsd puma].each { |name| require name }"], { stdio: "ignore" });
  } catch {
    const command = `apt-get install ${PACKAGES.join(" ")}`;
    throw new Error(`Ruby or a gem is missing. Debian, Ubuntu: ${command} (\`node labs/email/start.mjs --install\` does that)`);
  }
}

function installPackages() {
  const asRoot = process.getuid?.() === 0 ? [] : ["sudo"];
  const [command, ...rest] = [...asRoot, "apt-get", "install", "--yes", "--no-install-recommends", ...PACKAGES];
  execFileSync(command, rest, { stdio: ["ignore", 2, "inherit"] });
}

async function startRedis(port) {
  const folder = mkdtempSync(join(tmpdir(), "loadstone-email-"));
  parts.add(() => rmSync(folder, { recursive: true, force: true }));
  return startProgram(parts, ["redis-server", "--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""], { port });
}
