// Payments: how many a second can the service take, and how long does each of them take?
//
//   node labs/payments/start.mjs                                                  (in another terminal)
//   loadstone run labs/payments/payments.load.ts -p rate=80 -p seconds=30

import { arrivals, failures, observe, param, responseTime, scenario, stub, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "the payment service, or what stands before it" });
const pods = param.string("pods", { default: "http://127.0.0.1:8080", help: "its processes, with commas between them" });
const metrics = param.string("metrics", { default: "http://127.0.0.1:8084", help: "where each of them shows its metrics" });
const database = param.string("database", { default: "mysql://watcher@127.0.0.1:8081", help: "its database, to observe" });
const kafka = param.string("kafka", { default: "127.0.0.1:8082", help: "where its changes go to; none: they are not captured" });
const listen = param.string("listen", { default: "127.0.0.1:9098", help: "where the simulated gateway listens" });
const delay = param.delay("delay", { default: "uniform(20ms, 60ms)", help: "time until the gateway responds" });
const accounts = param.number("accounts", { default: 5000, min: 1, max: 5000, help: "accounts that pay" });
const rate = param.number("rate", { default: 80, min: 0, help: "payments per second" });
const rampSeconds = param.number("rampSeconds", { default: 10, min: 1, help: "length of the ramp to that rate" });
const seconds = param.number("seconds", { default: 30, min: 1, help: "how long payments keep coming at that rate" });

const gateway = stub.http({ name: "gateway", listen, delay });
gateway.on("POST /v1/authorise", () => ({ json: { status: "authorised" } }));

const pay = scenario("Pay", async (user) => {
  // The random numbers of every run are the same; a payment's key must be new.
  const key = `${Date.now()}-${user.random.uuid()}`;
  const json = { account: user.random.integer(1, accounts), amount: user.random.integer(100, 20000), key };
  await user.post("/v1/payments", { name: "Pay", json, expect: { status: 201 } });
});

export default test({
  target,
  load: pay.run(arrivals.ramp(5, rate).for(`${rampSeconds}s`).then(arrivals(rate).for(`${seconds}s`))),
  observe: [
    observe.mysql(database),
    observe.process({ name: "database", port: Number(new URL(database).port) }),
    ...pods.split(",").map((pod, number) => observe.process({ name: `pod ${number + 1}`, port: Number(new URL(pod).port) })),
    ...metrics.split(",").map((pod, number) =>
      observe.prometheus(`${pod}/actuator/prometheus`, { name: `metrics ${number + 1}`, only: ["hikaricp_*", "tomcat_threads_*"] }),
    ),
    ...(kafka === "none" ? [] : [observe.kafka({ brokers: kafka, topics: ["changes"] })]),
    observe.host(),
  ],
  thresholds: [responseTime("Pay").p99.below("250ms"), failures().rate.equals(0)],
});
