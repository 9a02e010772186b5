// What the test plays around the service (a name server, the owner of the experiments, StatsD), what it looks at, and what is asked of it.

import { observe, param, scenario, stub } from "loadstone";

export const processes = param
  .string("processes", { default: "http://127.0.0.1:8081,http://127.0.0.1:8082", help: "where the service listens" })
  .split(",");
const kafka = param.string("kafka", { default: "127.0.0.1:8080", help: "where Kafka listens" });
const lookup = param.delay("lookup", { default: "3.6ms", help: "time until the name server answers" });
const ttl = param.duration("ttl", { default: "5s", help: "for how long its answers may be believed" });
const moveAfter = param.duration("moveAfter", { default: "24h", help: "when the StatsD host gets another address" });

stub.dns({
  listen: "127.0.77.53:53",
  delay: lookup,
  ttl,
  names: {
    "statsd.lab": { address: "127.0.77.1", moves: [{ after: moveAfter, address: "127.0.77.2" }] },
    "experiments.lab": "127.0.0.1",
  },
});

const owner = stub.http({ name: "experiments", listen: "127.0.0.1:9097", delay: "5ms" });
owner.on("GET /v1/experiments", { json: { experiments: [{ name: "new checkout", share: 0.5 }, { name: "one-click", share: 0.1 }] } });

export const observed = [
  ...processes.map((service, number) => observe.node({ name: `decisions ${number + 1}`, port: Number(new URL(service).port) })),
  observe.statsd({ name: "statsd", listen: "127.0.77.1:8125" }),
  observe.statsd({ name: "statsd, moved", listen: "127.0.77.2:8125" }),
  observe.kafka({ brokers: kafka, topics: ["decisions"] }),
  observe.host(),
];

export const ready = scenario("Ready", async (user) => {
  for (const service of processes) await user.get(`${service}/ready`, { name: "Ready" });
});

export const decide = scenario("Decide", async (user) => {
  const json = { customer: `customer-${user.random.integer(1, 100_000)}`, experiment: user.random.boolean(0.5) ? "new checkout" : "one-click" };
  await user.post(`${processes[user.random.integer(0, processes.length - 1)]}/v1/decisions`, { name: "Decide", json, expect: { status: 200 } });
});
