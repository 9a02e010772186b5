// The faults of this lab, as environment variables. Without any, the service is healthy.

import { count, isHealthy } from "../variables.mjs";

const DEFAULT_SENDERS = 20;

/**
 * Reads the settings of the service.
 *
 * | variable | healthy | fault |
 * |---|---|---|
 * | SKIP_LOCKED | on | off: a sender waits for the message that another one has locked |
 * | HTTP_POOL | as many connections as senders | 5: fewer connections than senders |
 * | ORDER | created | none: whichever message the database finds first |
 * | SENDERS | 20 | 10 |
 */
export function readSettings(environment) {
  const senders = count(environment, "SENDERS", DEFAULT_SENDERS);
  return {
    senders,
    connections: count(environment, "HTTP_POOL", senders),
    skipLocked: isHealthy(environment, "SKIP_LOCKED", ["on", "off"]),
    ordered: isHealthy(environment, "ORDER", ["created", "none"]),
  };
}
