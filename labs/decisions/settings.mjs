// What can be changed in this lab, as environment variables. Without any, the service is healthy.

import { count, isHealthy } from "../variables.mjs";

/**
 * Reads the settings.
 *
 * | variable | healthy | otherwise |
 * |---|---|---|
 * | DNS_CACHE | ttl: the StatsD host's address is believed for DNS_TTL_MS | none: it is looked up for each metric; forever: once |
 * | KAFKA | batched: decisions are written once a second | each: one message is produced, and awaited, per request |
 * | TRACES | off | on: OpenTelemetry, to OTEL_EXPORTER_OTLP_ENDPOINT |
 * | PROCESSES | 2 | of the service |
 * | DNS_TTL_MS | 5000 | how long an address is believed with DNS_CACHE=ttl |
 * | REFRESH_MS | 10000 | how often the experiments are fetched |
 * | FLUSH_MS | 4 | milliseconds that each flush of Kafka takes longer than on this disk, 0: none |
 */
export function readSettings(environment) {
  const dns = environment.DNS_CACHE || "ttl";
  if (!["ttl", "none", "forever"].includes(dns)) throw new Error(`DNS_CACHE=${dns}: expected ttl, none or forever`);
  return {
    dnsCache: dns,
    dnsTtlMs: count(environment, "DNS_TTL_MS", 5000),
    isBatched: isHealthy(environment, "KAFKA", ["batched", "each"]),
    isTraced: !isHealthy(environment, "TRACES", ["off", "on"]),
    processes: count(environment, "PROCESSES", 2),
    refreshMs: Number(environment.REFRESH_MS || 10_000),
    flushMs: environment.FLUSH_MS === "0" ? 0 : count(environment, "FLUSH_MS", 4),
  };
}
