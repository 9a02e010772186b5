// One layer of the service alone: how many e-mails a second does it carry? The last layer first, since it needs none of the others.
//
//   LAYERS=deliver node labs/email/start.mjs                                   (in another terminal)
//   loadstone run labs/email/layer.load.ts -p layer=deliver -p rate=90

import { arrivals, flow, flowTime, observe, once, param, scenario, sequence, stub, test } from "loadstone";

const layer = param.choice("layer", ["deliver", "generate", "match"], { default: "deliver", help: "the layer that is looked at" });
const target = param.url("target", { default: "http://127.0.0.1:8080", help: "where content changes are published" });
const database = param.string("database", { default: "postgres://email@127.0.0.1:8081/postgres", help: "the service's database" });
const redis = param.string("redis", { default: "redis://127.0.0.1:8082", help: "Sidekiq's Redis: where jobs are put" });
const listen = param.string("listen", { default: "127.0.0.1:9097", help: "where the simulated notification API listens" });
const statsd = param.string("statsd", { default: "127.0.0.1:8125", help: "where the service's StatsD packets are listened for" });
const limit = param.number("limit", { default: 90, min: 1, help: "e-mails per second that the API allows; it rejects more" });
const rate = param.number("rate", { default: 90, min: 0, help: "e-mails per second" });
const seconds = param.number("seconds", { default: 40, min: 1, help: "how long they keep coming at that rate" });

/** A change has as many e-mails as a topic has subscribers. */
const [TOPICS, SUBSCRIBERS] = [50, 40];
const JOBS = { deliver: "DeliverJob", generate: "GenerateJob", match: "MatchJob" } as const;

const email = flow("E-mail", { drain: "15s" });
const api = stub.http({ name: "api", listen, delay: "250ms", limit: { rate: `${limit}/s`, burst: limit } });
api.on("POST /v2/notifications/email", (request) => {
  if (layer === "deliver") email.finish(request.json("$.key"));
  return { status: 201, json: { status: "created" } };
});

/** What the layers before this one would have left behind: an e-mail for each arrival. */
const setUp = scenario("Set up", async (user) => {
  if (layer === "match") return;
  const sql = user.sql(database);
  const count = Math.ceil(rate * (seconds + 10));
  await sql.query("truncate emails restart identity", [], { name: "Clear" });
  const fill = "insert into emails (change_id, subscriber_id) select 1 + n / 2000, 1 + n % 2000 from generate_series(0, $1::int) n";
  await sql.query(fill, [count], { name: "Fill" });
});

/** A job as Sidekiq writes it. */
const put = scenario("Put a job", async (user) => {
  const number = user.iteration;
  const now = Date.now() / 1000;
  const job = { class: JOBS[layer], args: [number + 1], queue: layer, retry: true, jid: user.random.uuid(), created_at: now, enqueued_at: now };
  email.start(`${1 + Math.floor(number / 2000)}/${1 + (number % 2000)}`);
  await user.redis(redis).command("LPUSH", `queue:${layer}`, JSON.stringify(job), { name: "Put a job" });
});

const publish = scenario("Publish", async (user) => {
  const topic = user.random.integer(1, TOPICS);
  const change = await user.post("/changes", { name: "Publish", json: { topic }, expect: { status: 201 } });
  for (let number = 1; number <= SUBSCRIBERS; number++) email.start(`${change.json("$.id")}/${(topic - 1) * SUBSCRIBERS + number}`, { since: change });
});

/** E-mails that the layer has let out lately, by the column that says when. */
const done = (column: string) =>
  observe.sql({
    name: "done",
    url: database,
    query: `select change_id || '/' || subscriber_id, extract(epoch from now() - ${column}) from emails where ${column} > now() - interval '3 s'`,
    finish: email,
  });

const load = (perSecond: number) => arrivals.ramp(perSecond / 4, perSecond).for("8s").then(arrivals(perSecond).for(`${seconds}s`));

export default test({
  target,
  load: layer === "match" ? publish.run(load(rate / SUBSCRIBERS)) : sequence(setUp.run(once()), put.run(load(rate))),
  observe: [
    ...(layer === "generate" ? [done("generated_at")] : layer === "match" ? [done("created_at")] : []),
    observe.postgres(database),
    observe.redis(redis),
    observe.statsd({ listen: statsd }),
    observe.process({ name: "database", port: Number(new URL(database).port) }),
    observe.host(),
  ],
  thresholds: [flowTime(email).p99.below("2s")],
});
