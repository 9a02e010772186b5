#!/usr/bin/env node
// Starts the lab: Kafka and the processes of the decision service. Prints where they listen; stops them all on Ctrl-C.
//
//   sudo node labs/decisions/start.mjs [--port 8080]       what can be changed: see settings.mjs
//
// Listens on --port (Kafka) and, for each process, the ports after it; with --port 0 on any free ones.
// The name server, StatsD and the owner of the experiments are the load test's. The processes ask its name server, since each has an /etc/resolv.conf of its
// own (a mount namespace, which needs root and ends with them). --install only installs what the lab needs from npm and Maven.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startProgram } from "../diagnose/program.mjs";
import { installPackages, Parts } from "../parts.mjs";
import { installKafka, startKafka } from "./kafka.mjs";
import { readSettings } from "./settings.mjs";

const here = import.meta.dirname;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8080" }, install: { type: "boolean", default: false } } });
const port = (offset) => (flags.port === "0" ? 0 : Number(flags.port) + offset);

const parts = new Parts();
await parts.run(async () => {
  const settings = readSettings(process.env);
  if (!/^\d{1,5}$/.test(flags.port)) throw new Error(`--port ${flags.port}: expected a number`);
  installPackages(here);
  installKafka();
  if (flags.install) process.exit(0);
  if (process.getuid?.() !== 0) throw new Error("an /etc/resolv.conf of the service's own, and port 53 of 127.0.77.53, need root: start it with sudo");

  const kafka = await startKafka({ port: port(0), flushMs: settings.flushMs, topic: "decisions", parts });
  const names = ownNames(process.env.NAME_SERVER || "127.0.77.53");
  const processes = [];
  for (let number = 0; number < settings.processes; number++) {
    const environment = {
      PORT: `${port(1 + number)}`,
      KAFKA_BROKER: kafka.address,
      STATSD_HOST: "statsd.lab",
      STATSD_PORT: process.env.STATSD_PORT || "8125",
      EXPERIMENTS_URL: process.env.EXPERIMENTS_URL || "http://experiments.lab:9097/v1/experiments",
    };
    // Each process has an inspector of its own, on any free port.
    const node = ["node", "--inspect-port=0", ...(settings.isTraced ? ["--import", join(here, "tracing.mjs")] : []), join(here, "service.mjs")];
    processes.push(`http://127.0.0.1:${await startProgram(parts, [...names, ...node], { environment })}`);
  }
  console.log(`processes: ${processes.join(",")}`);
  console.log(`kafka: ${kafka.address}`);
  console.log(`settings: ${Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ")}`);
});

/** What a command is started with to ask another name server than the machine does. */
function ownNames(server) {
  const folder = mkdtempSync(join(tmpdir(), "loadstone-names-"));
  parts.add(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "resolv.conf");
  writeFileSync(file, `nameserver ${server}\noptions timeout:1 attempts:2\n`);
  return ["unshare", "--mount", "sh", "-c", `mount --bind ${file} /etc/resolv.conf && exec "$@"`, "sh"];
}
