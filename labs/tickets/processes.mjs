// A service in several processes that share its port: for more connections than one process may have, and more cores than one can use.

import cluster from "node:cluster";
import { AggregatorRegistry } from "prom-client";
import { endWithTheLab } from "../service.mjs";

const ASK = "metrics of all?";
const registry = new AggregatorRegistry();

/** Runs this service in `count` processes. Gives back whether this is the process that only looks after them. */
export function isStartedBy(count) {
  if (cluster.isWorker || count === 1) return false;
  endWithTheLab();
  let listening = 0;
  for (let made = 0; made < count; made++) {
    const child = cluster.fork();
    child.on("message", async (message) => {
      if (message === ASK) child.send({ metricsOfAll: await registry.clusterMetrics() });
      // They have one port between them, and are up when the last is.
      else if (message.port !== undefined && ++listening === count) process.send?.(message);
    });
  }
  cluster.on("exit", () => process.exit(1));
  return true;
}

/** The metrics of all processes of this service together, as Prometheus reads them. */
export async function metricsOfAll(own) {
  if (!cluster.isWorker) return own.metrics();
  return new Promise((resolve) => {
    process.on("message", function hear({ metricsOfAll: text }) {
      if (text === undefined) return;
      process.off("message", hear);
      resolve(text);
    });
    process.send(ASK);
  });
}
