// A Kafka with a topic of 30 messages, of which one group has read all and another five. Ends with its standard input, and on SIGTERM.

import { createRequire } from "node:module";
import { setTimeout as pause } from "node:timers/promises";
import { startKafka } from "../../../../labs/decisions/kafka.mjs";

const { Kafka, logLevel } = createRequire(new URL("../../../../labs/decisions/package.json", import.meta.url))("kafkajs");

// Also before it is up, so that nothing is left of a test that gave up waiting.
const endsWithInput = (stop) => {
  const end = async () => {
    await stop();
    process.exit(0);
  };
  process.stdin.resume().once("end", end);
  // The signal of a test process that is gone comes before the end of its pipe.
  process.once("SIGTERM", end);
};
const { address } = await startKafka({ port: 0, flushMs: 0, topic: "decisions", parts: { add: endsWithInput } });

const client = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING });
const admin = client.admin();
await admin.connect();
await admin.createTopics({ topics: [{ topic: "orders", numPartitions: 2 }], waitForLeaders: false, timeout: 30_000 });
// The broker may not have heard yet of the topic, which kafkajs takes for a failure where it waits itself.
const hasLeaders = () =>
  admin.fetchTopicMetadata({ topics: ["orders"] }).then(
    ({ topics: [{ partitions }] }) => partitions.length === 2 && partitions.every(({ leader }) => leader >= 0),
    () => false,
  );
while (!(await hasLeaders())) await pause(50);
const producer = client.producer();
await producer.connect();
const messages = Array.from({ length: 30 }, (_, number) => ({ value: `order ${number}`, partition: number % 2 }));
await producer.send({ topic: "orders", messages });
await admin.setOffsets({ groupId: "billing", topic: "orders", partitions: [{ partition: 0, offset: "5" }, { partition: 1, offset: "0" }] });

const consumer = client.consumer({ groupId: "audit" });
await consumer.connect();
await consumer.subscribe({ topic: "orders", fromBeginning: true });
await consumer.run({ eachMessage: async () => {} });
console.log(`kafka: ${address}`);
