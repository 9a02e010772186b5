// The faults of this lab, as environment variables. Without any, the service is healthy.

import { count, isHealthy } from "../variables.mjs";

/**
 * Reads the settings of the service.
 *
 * | variable | healthy | fault |
 * |---|---|---|
 * | QUERY | once: an e-mail's change is found by its key | every: each e-mail reads all changes |
 * | INSERT | bulk: one statement for all e-mails of a change | each: one statement for each |
 * | LIMITER | delivering: the limit is shared by the workers that deliver | all: by all workers, though those that generate send nothing |
 * | WORKERS | 30 | workers that deliver |
 * | PRIORITY | apart: generation has workers of its own | deliver: one pool of workers, which delivers before it generates |
 *
 * Neither is a fault: LAYERS, with which deliver, generate or match starts only the workers of that layer, to look at it alone; and LIMIT, the e-mails per
 * second that the API allows (90).
 */
export function readSettings(environment) {
  return {
    query: isHealthy(environment, "QUERY", ["once", "every"]) ? "once" : "every",
    insert: isHealthy(environment, "INSERT", ["bulk", "each"]) ? "bulk" : "each",
    limiter: isHealthy(environment, "LIMITER", ["delivering", "all"]) ? "delivering" : "all",
    workers: count(environment, "WORKERS", 30),
    limit: count(environment, "LIMIT", 90),
    priority: isHealthy(environment, "PRIORITY", ["apart", "deliver"]) ? "apart" : "deliver",
    layers: layers(environment.LAYERS || "all"),
  };
}

function layers(name) {
  if (!["all", "deliver", "generate", "match"].includes(name)) throw new Error(`LAYERS=${name}: expected all, deliver, generate or match`);
  return name;
}
