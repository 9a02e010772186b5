// `kafka.consume(…)`: functions of the test that receive the records of a topic.
import { consume, unsealedConsumers } from "loadstone:consumers";
import { members, name, show } from "loadstone:values";

export const kafka = members("kafka", {
  consume(url: unknown, topic: unknown, handle: unknown): void {
    const what = "kafka.consume(…)";
    unsealedConsumers(what);
    if (typeof url !== "string") throw new TypeError(`${what}: ${show(url)} is not a URL: write it as "kafka://127.0.0.1:9092"`);
    __loadstone.kafkaAddress(url);
    name(topic, `${what} topic`);
    consume(what, "kafka", { url, topic }, "a record", handle);
  },
});
