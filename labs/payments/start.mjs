#!/usr/bin/env node
// Starts the lab: MariaDB, change capture from its binary log to Kafka, one or more processes of the payment service, and nginx where there are
// several. Prints where they listen; stops them all on Ctrl-C.
//
//   node labs/payments/start.mjs [--port 8080]       what can be changed: see settings.mjs
//
// Listens on --port (payments), the ports after it (MariaDB, Kafka) and, for each process of the service, two more (payments, metrics); with --port 0 on
// any free ones.
// The gateway is the load test's: the service calls it at GATEWAY_URL. --install only builds what the lab needs.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../../examples/free-port.mjs";
import { installKafka, startKafka } from "../decisions/kafka.mjs";
import { flushFile, slowDisk } from "../diagnose/preload.mjs";
import { startProgram } from "../diagnose/program.mjs";
import { installPackages, Parts } from "../parts.mjs";
import { startMariadb } from "./mariadb.mjs";
import { readSettings } from "./settings.mjs";

const here = import.meta.dirname;
/** What Maven builds, each in its folder. */
const PROGRAMS = { service: "target/payments.jar", capture: "target/capture.jar" };
const jar = join(here, "service", PROGRAMS.service);
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" }, install: { type: "boolean", default: false } } });
const port = (offset) => freePort(flags.port === "0" ? 0 : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  Object.entries(PROGRAMS).forEach(([folder, built]) => build(join(here, folder), built));
  installPackages(join(here, "../decisions"));
  installKafka();
  if (flags.install) process.exit(0);

  const database = await startMariadb({ port: await port(1), flags: databaseFlags(settings), environment: slowDisk });
  parts.add(database.stop);
  database.execute(readFileSync(join(here, "schema.sql"), "utf8"));
  // Disks differ: from here on each flush takes so much longer than on this one.
  writeFileSync(flushFile, `${settings.flushMs}`);

  const kafka = settings.capture && (await startKafka({ port: await port(2), flushMs: 0, topic: "changes", parts }));
  if (kafka) await startCapture(database.port, kafka.address);

  const pods = [];
  for (let pod = 0; pod < settings.pods; pod++) {
    // One stands for itself; several stand behind nginx.
    const own = { port: await port(settings.pods === 1 ? 0 : 3 + 2 * pod), metrics: await port(4 + 2 * pod) };
    await startPod(settings, database.port, own);
    pods.push(own);
  }
  const payments = pods.length === 1 ? pods[0].port : await startNginx(pods, await port(0));
  console.log(`payments: ${local(payments)}`);
  console.log(`pods: ${pods.map((pod) => local(pod.port)).join(",")}`);
  console.log(`metrics: ${pods.map((pod) => local(pod.metrics)).join(",")}`);
  console.log(`database: mysql://watcher@127.0.0.1:${database.port}`);
  console.log(`kafka: ${kafka ? kafka.address : "none"}`);
  console.log(`settings: ${Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ")}`);
});

function local(port) {
  return `http://127.0.0.1:${port}`;
}

/** By Maven, where a source is newer than what was built. */
function build(folder, built) {
  const sources = ["pom.xml", ...readdirSync(join(folder, "src"), { recursive: true }).map((file) => `src/${file}`)];
  const newest = Math.max(...sources.map((file) => statSync(join(folder, file)).mtimeMs));
  if (existsSync(join(folder, built)) && statSync(join(folder, built)).mtimeMs >= newest) return;
  console.error(`building ${built} (mvn package)`);
  // What Maven says goes to standard error: standard output is for the addresses.
  execFileSync("mvn", ["--quiet", "--batch-mode", "package"], { cwd: folder, stdio: ["ignore", 2, "inherit"] });
}

function databaseFlags({ binlog, groupCommit }) {
  return [
    // Counts commits with and without a binary log.
    "--innodb-monitor-enable=trx_rw_commits",
    ...(binlog === "off" ? [] : ["--log-bin=changes", "--binlog-format=ROW", `--sync-binlog=${binlog === "on" ? 1 : 0}`]),
    ...(groupCommit ? ["--binlog-commit-wait-count=8", "--binlog-commit-wait-usec=2000"] : []),
  ];
}

/** A replica's place in the binary log, and a producer. */
async function startCapture(database, kafka) {
  const classes = ["capture.jar", "dependency/*"].map((file) => join(here, "capture/target", file)).join(":");
  const environment = { DATABASE_PORT: `${database}`, KAFKA_BROKER: kafka };
  await startProgram(parts, ["java", "-XX:+UseSerialGC", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classes, "lab.capture.Capture"], { environment });
}

async function startPod({ oneTransaction, risk, pool }, database, { port, metrics }) {
  const environment = {
    PORT: `${port}`,
    METRICS_PORT: `${metrics}`,
    POOL: `${pool}`,
    COMMITS: oneTransaction ? "one" : "ten",
    RISK: risk,
    DATABASE_URL: `jdbc:mariadb://127.0.0.1:${database}/payments`,
    GATEWAY_URL: process.env.GATEWAY_URL || "http://127.0.0.1:9098",
  };
  // It shows its metrics last.
  await startProgram(parts, ["java", "-XX:+UseSerialGC", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-jar", jar], { environment, port: metrics });
}

async function startNginx(pods, port) {
  const folder = mkdtempSync(join(tmpdir(), "loadstone-nginx-"));
  parts.add(() => rmSync(folder, { recursive: true, force: true }));
  const servers = pods.map((pod) => `server 127.0.0.1:${pod.port};`).join(" ");
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; worker_processes 1; pid nginx.pid; events { worker_connections 4096; }
http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream pods { ${servers} keepalive 256; }
  server { listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://pods; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`,
  );
  return startProgram(parts, ["nginx", "-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], { port });
}
