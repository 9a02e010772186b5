// A Kafka broker, and a second client of it. Each side reads the records that the other writes. Reads one command in JSON per line of its
// standard input, answers each with a line of JSON, and ends with the input. Argument: a file with a key and its certificate, for the
// listener with TLS and a login.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { startKafka } from "../../../../labs/decisions/kafka.mjs";

const { Kafka, logLevel, CompressionTypes } = createRequire(new URL("../../../../labs/decisions/package.json", import.meta.url))("kafkajs");

const lines = createInterface({ input: process.stdin });
let stop = () => {};
const end = async () => {
  await stop();
  process.exit(0);
};
lines.once("close", end);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, end);
// Nothing is left of a command that failed, either.
process.on("uncaughtException", async (error) => {
  console.error(error);
  await stop();
  process.exit(1);
});
const secured = { pem: process.argv[2], user: "app", password: "s3cret-word" };
const broker = await startKafka({ port: 0, flushMs: 0, topic: "orders", parts: { add: (ends) => (stop = ends) }, secured });
// Patient: other tests may keep the machine busy.
const patience = { requestTimeout: 60_000, retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 30 } };
const client = new Kafka({ brokers: [broker.address], logLevel: logLevel.NOTHING, ...patience });
const [admin, producer] = [client.admin(), client.producer()];
await admin.connect();
await producer.connect();

const text = (bytes) => (bytes === null || bytes === undefined ? null : bytes.toString());
/** A broker may not know a new topic yet. */
async function hasLeaders(topic, count) {
  try {
    const [{ partitions }] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics;
    return partitions.length === count && partitions.every(({ leader }) => leader >= 0);
  } catch {
    return false;
  }
}

const commands = {
  /** Creates a topic with these settings. */
  async create({ topic, partitions, settings = {} }) {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }], waitForLeaders: false, timeout: 30_000 });
    while (!(await hasLeaders(topic, partitions))) await pause(50);
  },
  async write({ topic, messages, gzip }) {
    await producer.send({ topic, messages, compression: gzip ? CompressionTypes.GZIP : CompressionTypes.None });
  },
  /** A number of records of a topic from its beginning, by partition and offset. */
  async read({ topic, count }) {
    const consumer = client.consumer({ groupId: `reader-${topic}-${Math.random()}` });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const records = [];
    await new Promise((enough) => {
      consumer.run({
        eachMessage: async ({ partition, message: { key, value, headers, offset, timestamp } }) => {
          const own = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.map(text) : text(value)]);
          records.push({ partition, offset: Number(offset), key: text(key), value: text(value), headers: own, timestamp: Number(timestamp) });
          if (records.length >= count) enough();
        },
      });
    });
    await consumer.disconnect();
    return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  },
};

console.log(JSON.stringify({ address: broker.address, secured: broker.securedAddress }));
for await (const line of lines) {
  const { does, ...given } = JSON.parse(line);
  console.log(JSON.stringify((await commands[does](given)) ?? null));
}
