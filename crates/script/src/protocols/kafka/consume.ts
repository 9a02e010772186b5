// Consumers of a test: functions that hear of the records of a topic, in the realm of stubs' functions.
import { members, name, show } from "loadstone:values";

type Handler = (record: any) => unknown;

/** All consumers of the file, in the order of their declaration. */
export const consumers: { url: string; topic: string; handle: Handler }[] = [];

export const kafka = members("kafka", {
  consume(url: unknown, topic: unknown, handle: unknown): void {
    const what = "kafka.consume(…)";
    if (__loadstone.declared?.sealed) throw new Error(`${what}: declare consumers at the top level of the test, outside scenarios`);
    if (typeof url !== "string") throw new TypeError(`${what}: ${show(url)} is not a URL: write it as "kafka://127.0.0.1:9092"`);
    __loadstone.kafkaAddress(url);
    name(topic, `${what} topic`);
    if (typeof handle !== "function") throw new TypeError(`${what}: ${show(handle)} is not a function that takes a record`);
    consumers.push({ url, topic: topic as string, handle: handle as Handler });
  },
});

/** Calls the function of a consumer; called by the host. */
__loadstone.consume = (number: number, record: any) => consumers[number]!.handle(record);
