// What a service tells Prometheus about itself: memory, CPU, event loop, garbage collection, and its database connections.

import { collectDefaultMetrics, Counter, Gauge, register } from "prom-client";
import { metricsOfAll } from "./processes.mjs";

/** Adds `GET /metrics` to a service. */
export function exposeMetrics(app) {
  collectDefaultMetrics();
  app.get("/metrics", async (request, reply) => reply.type(register.contentType).send(await metricsOfAll(register)));
}

/** Shows what `read` gives whenever somebody looks. */
export function gauge(name, help, read) {
  const collect = function () {
    this.set(read());
  };
  return new Gauge({ name, help, collect });
}

/** Shows a pool of database connections, and how long is waited for one against how long it is used. */
export function watchPool(pool) {
  gauge("db_pool_size", "Most connections the pool opens", () => pool.options.max);
  gauge("db_pool_connections", "Connections the pool has", () => pool.totalCount);
  gauge("db_pool_idle", "Connections that nobody uses", () => pool.idleCount);
  gauge("db_pool_waiting", "Operations that wait for a connection", () => pool.waitingCount);
  const waited = new Counter({ name: "db_pool_wait_seconds_total", help: "Time operations have waited for a connection" });
  const used = new Counter({ name: "db_pool_use_seconds_total", help: "Time operations have held a connection" });
  const taken = new Counter({ name: "db_pool_taken_total", help: "Connections that operations have taken from the pool" });

  /** Runs `work` with a connection of the pool. */
  return async (work) => {
    const asked = performance.now();
    const connection = await pool.connect();
    const got = performance.now();
    waited.inc((got - asked) / 1000);
    taken.inc();
    try {
      return await work(connection);
    } finally {
      connection.release();
      used.inc((performance.now() - got) / 1000);
    }
  };
}
