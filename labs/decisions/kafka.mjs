// A Kafka broker of a lab's own (KRaft): copied by Maven on first use, then started and stopped with the lab. labs/payments starts it, too; what both
// need of npm is this lab's.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../examples/free-port.mjs";
import { stopServer } from "../../examples/server-process.mjs";
import { slowFlush } from "../diagnose/preload.mjs";

const PROJECT = join(import.meta.dirname, "pom.xml");
const LIBRARIES = join(import.meta.dirname, "target", "dependency");
const CLUSTER = "bG9hZHN0b25lLWxhYi0wMQ";
const START_LIMIT_MS = 60_000;

/** A disk that is flushed for every message: one broker has no other that would keep it. */
const settings = (port, controller, folder, secured) => `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}${secured ? `,SASL_SSL://127.0.0.1:${secured.port}` : ""}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}${secured ? `,SASL_SSL://127.0.0.1:${secured.port}` : ""}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
${secured ? security(secured) : ""}
log.dirs=${join(folder, "log")}
log.flush.interval.messages=1
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`;

/** Logins by SCRAM are kept by the cluster, and made with it. */
const scramLogins = ({ user, password }) =>
  ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => ["--add-scram", `${mechanism}=[name=${user},password=${password}]`]);

/** A listener with TLS, for whoever logs in. */
const security = ({ pem, user, password }) => `
ssl.keystore.type=PEM
ssl.keystore.location=${pem}
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${user}="${password}";
`;

/** Copies the Kafka that pom.xml names to `target/`, unless it is there. */
export function installKafka() {
  if (existsSync(LIBRARIES) && statSync(LIBRARIES).mtimeMs >= statSync(PROJECT).mtimeMs) return;
  rmSync(LIBRARIES, { recursive: true, force: true });
  console.error("installing Kafka (mvn dependency:copy-dependencies)");
  const copy = ["--quiet", "--batch-mode", "dependency:copy-dependencies", "-DincludeScope=runtime"];
  try {
    // What Maven says goes to standard error: standard output is for the lab's addresses.
    execFileSync("mvn", copy, { cwd: import.meta.dirname, stdio: ["ignore", 2, "inherit"] });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    throw new Error("Maven, which installs Kafka, is missing. Debian, Ubuntu: apt-get install maven");
  }
}

/**
 * Starts a broker with a topic on `port` (0: any free one), each flush `flushMs` longer than this disk's. With `parts` it ends with them, also when they
 * end before it is up. `secured`, a key and its certificate in a file and whose login is taken, adds a listener with TLS and SASL (PLAIN and SCRAM).
 */
export async function startKafka({ port: wanted, flushMs, topic, parts, secured: wantedSecured }) {
  const [port, controller] = [wanted || (await freePort()), await freePort()];
  const folder = mkdtempSync(join(tmpdir(), "loadstone-kafka-"));
  const configuration = join(folder, "server.properties");
  const secured = wantedSecured && { ...wantedSecured, port: await freePort() };
  writeFileSync(configuration, settings(port, controller, folder, secured));
  // One collector thread and a small heap: the machine belongs to the system under test.
  const java = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", join(LIBRARIES, "*")];
  execFileSync("java", [...java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", configuration, ...(secured ? scramLogins(secured) : [])], { stdio: ["ignore", "ignore", 2] });
  const options = { env: { ...process.env, ...slowFlush(flushMs) }, stdio: ["ignore", "ignore", "ignore"], detached: true };
  const server = spawn("java", [...java, "kafka.Kafka", configuration], options);
  const stop = () => stopServer(server, "SIGKILL", folder);
  parts?.add(stop);
  try {
    await untilItAnswers(server, port, topic);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `127.0.0.1:${port}`, securedAddress: secured && `127.0.0.1:${secured.port}`, stop };
}

/** Until the topic is there. */
async function untilItAnswers(server, port, topic) {
  const { Kafka, logLevel } = await import("kafkajs");
  const ends = Date.now() + START_LIMIT_MS;
  for (;;) {
    const admin = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING, retry: { retries: 0 } }).admin();
    try {
      await admin.connect();
      await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true });
      return;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > ends) throw new Error(`Kafka did not answer: ${error.message}`);
      await pause(300);
    } finally {
      await admin.disconnect().catch(() => {});
    }
  }
}
