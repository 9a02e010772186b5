// One process of the service: decides A or B for a customer, tells StatsD of it, and writes it to Kafka.
//
// StatsD is told by hot-shots. Without a cache of its own it gives the host's name to the socket for every metric, and Node looks it up each time:
// getaddrinfo, on two of libuv's four threads.

import { createHash } from "node:crypto";
import Fastify from "fastify";
import StatsD from "hot-shots";
import { decisionLog } from "./decision-log.mjs";
import { Experiments } from "./experiments.mjs";
import { readSettings } from "./settings.mjs";

const { dnsCache, dnsTtlMs, isBatched, refreshMs } = readSettings(process.env);
const statsd = new StatsD({
  host: process.env.STATSD_HOST,
  port: Number(process.env.STATSD_PORT),
  prefix: "decisions.",
  cacheDns: dnsCache !== "none",
  cacheDnsTtl: dnsCache === "forever" ? Number.MAX_SAFE_INTEGER : dnsTtlMs,
  // A metric that is lost is no reason to fail.
  errorHandler: () => {},
});
const experiments = new Experiments(process.env.EXPERIMENTS_URL, refreshMs);
const log = await decisionLog({ broker: process.env.KAFKA_BROKER, isBatched });

const app = Fastify();

app.get("/ready", async () => ({ experiments: (await experiments.current()).length }));

app.post("/v1/decisions", async (request) => {
  const began = performance.now();
  const { customer, experiment } = request.body;
  const { share } = (await experiments.current()).find(({ name }) => name === experiment) ?? { share: 0 };
  const variant = place(customer, experiment) < share ? "B" : "A";
  await log({ customer, experiment, variant, at: Date.now() });
  statsd.increment("made", 1, { variant });
  statsd.timing("time", performance.now() - began);
  return { variant };
});

/** From 0 to 1, the same for a customer and an experiment each time. */
function place(customer, experiment) {
  return createHash("sha256").update(`${experiment}:${customer}`).digest().readUInt32BE(0) / 2 ** 32;
}

process.once("SIGTERM", () => process.exit(0));
await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT ?? 0), backlog: 4096 });
console.log(`listening ${app.server.address().port}`);
