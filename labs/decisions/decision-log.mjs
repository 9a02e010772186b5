// Every decision is written to Kafka: one message per request, awaited; or those of a second at once.

import { Kafka, logLevel } from "kafkajs";

const TOPIC = "decisions";
const FLUSH_EVERY_MS = 1000;
/** Of a log that cannot be reached; what is older is dropped. */
const BUFFERED_MAX = 100_000;

export async function decisionLog({ broker, isBatched }) {
  const kafka = new Kafka({ clientId: "decisions", brokers: [broker], logLevel: logLevel.ERROR });
  const producer = kafka.producer();
  await producer.connect();
  const produce = (messages) => producer.send({ topic: TOPIC, messages, acks: -1 });
  return isBatched ? batched(produce) : (decision) => produce([message(decision)]);
}

function message(decision) {
  return { key: decision.customer, value: JSON.stringify(decision) };
}

function batched(produce) {
  let buffer = [];
  const flush = async () => {
    const messages = buffer;
    buffer = [];
    if (messages.length > 0) await produce(messages);
  };
  setInterval(() => flush().catch((error) => console.error(`decisions were not written: ${error.message}`)), FLUSH_EVERY_MS);
  return async (decision) => {
    if (buffer.length < BUFFERED_MAX) buffer.push(message(decision));
  };
}
