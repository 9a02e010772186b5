// Content changes, and the e-mails that tell subscribers about them: how long does an e-mail take, and which layer is too slow?
//
//   node labs/email/start.mjs                                                  (in another terminal)
//   loadstone run labs/email/email.load.ts -p rate=1.5 -p seconds=40

import { arrivals, failures, flow, flowTime, observe, param, scenario, stub, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where content changes are published" });
const database = param.string("database", { default: "postgres://email@127.0.0.1:8081/postgres", help: "the service's database, to observe" });
const redis = param.string("redis", { default: "redis://127.0.0.1:8082", help: "Sidekiq's Redis, to observe" });
const listen = param.string("listen", { default: "127.0.0.1:9097", help: "where the simulated notification API listens" });
const statsd = param.string("statsd", { default: "127.0.0.1:8125", help: "where the service's StatsD packets are listened for" });
const delay = param.delay("delay", { default: "250ms", help: "time until the API responds" });
const limit = param.number("limit", { default: 90, min: 1, help: "e-mails per second that the API allows; it rejects more" });
const rate = param.number("rate", { default: 1.5, min: 0, help: "content changes per second" });
const seconds = param.number("seconds", { default: 40, min: 1, help: "how long changes keep coming at that rate" });
const drain = param.duration("drain", { default: "15s", help: "how long to wait for e-mails that are still on their way" });

/** Each topic has 40 subscribers, numbered through. */
const TOPICS = 50;
const SUBSCRIBERS = 40;

const api = stub.http({ name: "api", listen, delay, limit: { rate: `${limit}/s`, burst: limit } });
const email = flow("E-mail", { drain, stages: ["matched", "generated"] });

const publish = scenario("Publish", async (user) => {
  const topic = user.random.integer(1, TOPICS);
  const change = await user.post("/changes", { name: "Publish", json: { topic }, expect: { status: 201 } });
  for (let number = 1; number <= SUBSCRIBERS; number++) {
    email.start(`${change.json("$.id")}/${(topic - 1) * SUBSCRIBERS + number}`, { since: change });
  }
});

api.on("POST /v2/notifications/email", (request) => {
  email.finish(request.json("$.key"));
  return { status: 201, json: { status: "created" } };
});

/** E-mails that have reached a stage lately, by the column that says when. */
const reached = (column: string) =>
  `select change_id || '/' || subscriber_id, extract(epoch from now() - ${column}) from emails where ${column} > now() - interval '3 s'`;

export default test({
  target,
  load: publish.run(arrivals.ramp(0.5, rate).for("8s").then(arrivals(rate).for(`${seconds}s`))),
  observe: [
    observe.sql({ name: "matched", url: database, query: reached("created_at"), stage: [email, "matched"] }),
    observe.sql({ name: "generated", url: database, query: reached("generated_at"), stage: [email, "generated"] }),
    observe.postgres(database),
    observe.redis(redis, { lists: ["queue:match", "queue:generate", "queue:deliver"] }),
    observe.statsd({ listen: statsd }),
    observe.process({ name: "database", port: Number(new URL(database).port) }),
    observe.process({ name: "sidekiq" }),
    observe.host(),
  ],
  thresholds: [flowTime(email).p99.below("2s"), failures().rate.equals(0)],
});
