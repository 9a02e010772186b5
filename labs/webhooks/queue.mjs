// An SQS-compatible queue (ElasticMQ) of its own: installed by Maven on first use, then started and stopped with the lab.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../examples/free-port.mjs";

const START_LIMIT_MS = 60_000;
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
    execFileSync("mvn", copy, { cwd: import.meta.dirname, stdio: ["ignore", "inherit", "inherit"] });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    throw new Error("Maven is not installed, which brings the queue. Debian, Ubuntu: apt-get install maven; macOS: brew install maven");
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
  return { url: `http://127.0.0.1:${port}/000000000000/payment-events`, ready: untilReady(server), stop: () => stop(server, folder) };
}

function untilReady(server) {
  return new Promise((resolve, reject) => {
    let log = "";
    const late = setTimeout(() => fail(`was not ready within ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS);
    const fail = (why) => {
      clearTimeout(late);
      server.kill("SIGKILL");
      reject(new Error(`the queue ${why}. Its last lines:\n${log.split("\n").slice(-10).join("\n")}`));
    };
    server.once("error", (error) => fail(`did not start: ${error.message}`));
    server.once("exit", (code) => fail(`ended with code ${code}`));
    server.stdout.setEncoding("utf8");
    server.stdout.on("data", (text) => {
      log = (log + text).slice(-4000);
      if (!log.includes("=== ElasticMQ server")) return;
      clearTimeout(late);
      server.removeAllListeners("exit");
      server.stdout.removeAllListeners("data");
      server.stdout.resume();
      resolve();
    });
  });
}

async function stop(server, folder) {
  if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
