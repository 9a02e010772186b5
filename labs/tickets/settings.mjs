// The faults of this lab, as environment variables. Without any, both services are healthy.

import { count, isHealthy, share } from "../variables.mjs";

/**
 * Reads the settings of the services.
 *
 * | variable | healthy | fault |
 * |---|---|---|
 * | DB_POOL | 20 connections of the issuing service to its database | 2 |
 * | PER_CONNECTION_HEAP | low: all connections of validators share one copy of the tariffs | high: each has its own |
 * | SLOW_TAP | 0%: no tap is slow | 1%: those of yearly tickets, one in a hundred, take 600 ms |
 * | DROP | 0%: connections of validators last | 10%: this share breaks without notice |
 * | SILENT | 0%: every connection is served | 10%: this share stays open but is no longer read |
 * | WORKERS | 1 process of the validation service | no fault: more processes, for more connections and more cores |
 */
export function readSettings(environment) {
  return {
    databaseConnections: count(environment, "DB_POOL", 20),
    ownTariffs: !isHealthy(environment, "PER_CONNECTION_HEAP", ["low", "high"]),
    slowTaps: !isHealthy(environment, "SLOW_TAP", ["0%", "1%"]),
    dropShare: share(environment, "DROP"),
    silentShare: share(environment, "SILENT"),
    processes: count(environment, "WORKERS", 1),
  };
}
