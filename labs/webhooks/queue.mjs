// An SQS-compatible queue (ElasticMQ) of its own: installed by Maven on first use, then started and stopped with the lab.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../examples/free-port.mjs";
import { stopServer, untilReady } from "../../examples/server-process.mjs";

const PROJECT = join(import.meta.dirname, "pom.xml");
const LIBRARIES = join(import.meta.dirname, "target", "dependency");

const settings = (port) => `
include classpath("application.conf")
node-address { protocol = http, host = 127.0.0.1, port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-hostname = "127.0.0.1", bind-port = ${port}, sqs-limits = strict }
rest-stats { enabled = false }
queues { payment-events { defaultVisibilityTimeout = 30 seconds } }
`;

/** Copies the ElasticMQ that pom.xml names to `target/`, unless it is there. */
export function installQueue() {
  if (existsSync(LIBRARIES) && statSync(LIBRARIES).mtimeMs >= statSync(PROJECT).mtimeMs) return;
  rmSync(LIBRARIES, { recursive: true, force: true });
  console.error("installing ElasticMQ (mvn dependency:copy-dependencies)");
  const copy = ["--quiet", "--batch-mode", "dependency:copy-dependencies", "-DincludeScope=runtime"];
  try {
    // What Maven says goes to standard error: standard output is for the lab's addresses.
    execFileSync("mvn", copy, { cwd: import.meta.dirname, stdio: ["ignore", 2, "inherit"] });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    throw new Error("Maven, which installs the queue, is missing. Debian, Ubuntu: apt-get install maven; macOS: brew install maven");
  }
}

/** Starts a queue on `port` (0: any free one). `url` is the address of its one queue. */
export async function startQueue({ port: wanted = 0 } = {}) {
  installQueue();
  const port = wanted === 0 ? await freePort() : wanted;
  const folder = mkdtempSync(join(tmpdir(), "loadstone-queue-"));
  const configuration = join(folder, "queue.conf");
  writeFileSync(configuration, settings(port));
  // One collector thread and a small heap: the machine belongs to the system under test.
  const java = ["-Xmx128m", "-XX:+UseSerialGC", `-Dconfig.file=${configuration}`, "-cp", join(LIBRARIES, "*"), "org.elasticmq.server.Main"];
  const server = spawn("java", java, { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const ready = untilReady(server, server.stdout, { name: "the queue", sign: "=== ElasticMQ server", kill: "SIGKILL" });
  return { url: `http://127.0.0.1:${port}/000000000000/payment-events`, ready, stop: () => stopServer(server, "SIGTERM", folder) };
}
