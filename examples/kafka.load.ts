// Orders written to a Kafka topic, and the time until a consumer of the topic receives them.
//
//   loadstone run examples/kafka.load.ts -p broker=kafka://127.0.0.1:9092 -p topic=orders        (the topic must exist)

import { arrivals, failures, flow, flowTime, kafka, param, responseTime, scenario, test } from "loadstone";

const broker = param.url("broker", { default: "kafka://127.0.0.1:9092", help: "kafka://host:port, or kafkas://user:password@host:port" });
const topic = param.string("topic", { default: "orders", help: "a topic that exists" });
const perSecond = param.number("perSecond", { default: 100, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

/** From just before an order is written until it is read. */
const delivery = flow("Delivery", { drain: "10s" });

kafka.consume(broker, topic, (record) => delivery.finish(record.key ?? ""));

const ordering = scenario("Ordering", async (user) => {
  const cluster = user.kafka(broker);
  const key = `order-${user.number}-${user.iteration}`;
  delivery.start(key);
  const sent = await cluster.produce(topic, { key, json: { customer: user.random.integer(1, 10_000), product: "ticket" } }, { name: "Order" });
  user.check("it is written", sent.ok);
});

export default test({
  load: ordering.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Order").p99.below("50ms"), flowTime(delivery).p99.below("200ms"), failures().rate.below("1%")],
});
