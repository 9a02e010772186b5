// What can be changed in this lab, as environment variables. Without any, payments are committed as the service was found: statement by statement.

import { count, isHealthy } from "../variables.mjs";

/**
 * Reads the settings.
 *
 * | variable | as found | otherwise |
 * |---|---|---|
 * | COMMITS | ten: each of a payment's ten writes commits by itself | one: they are one transaction |
 * | BINLOG | on: flushed for each commit | unflushed: the system writes it to disk when it likes; off |
 * | GROUP_COMMIT | off | on: a commit waits up to 2 ms for eight others to share its flush |
 * | CAPTURE | on: changes go from the binary log to Kafka; without a binary log, off | off |
 * | RISK | off | locked: each payment is scored first, for 25 ms, one at a time; computed: some ms of CPU time each |
 * | POOL | 10 | connections of each process |
 * | PODS | 1 | processes; nginx spreads the requests among them |
 * | FLUSH_MS | 4 | milliseconds that each flush of the database's logs takes longer than on this disk; 0 adds nothing |
 */
export function readSettings(environment) {
  const binlog = environment.BINLOG || "on";
  if (!["on", "unflushed", "off"].includes(binlog)) throw new Error(`BINLOG=${binlog}: expected on, unflushed or off`);
  const risk = environment.RISK || "off";
  if (!["off", "locked", "computed"].includes(risk)) throw new Error(`RISK=${risk}: expected off, locked or computed`);
  return {
    oneTransaction: !isHealthy(environment, "COMMITS", ["ten", "one"]),
    binlog,
    capture: isHealthy(environment, "CAPTURE", ["on", "off"]) && binlog !== "off",
    groupCommit: !isHealthy(environment, "GROUP_COMMIT", ["off", "on"]),
    risk,
    pool: count(environment, "POOL", 10),
    pods: count(environment, "PODS", 1),
    flushMs: environment.FLUSH_MS === "0" ? 0 : count(environment, "FLUSH_MS", 4),
  };
}
