// The faults of this lab, as environment variables. Without any, the service is healthy.

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
  const senders = count("SENDERS", environment.SENDERS, DEFAULT_SENDERS);
  return {
    senders,
    connections: count("HTTP_POOL", environment.HTTP_POOL, senders),
    skipLocked: choice("SKIP_LOCKED", environment.SKIP_LOCKED, ["on", "off"]) === "on",
    ordered: choice("ORDER", environment.ORDER, ["created", "none"]) === "created",
  };
}

function count(name, text, healthy) {
  if (text === undefined || text === "") return healthy;
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw new Error(`${name}=${text}: it takes a number from 1 to 9999`);
  return Number(text);
}

/** The first of the choices is the healthy one. */
function choice(name, text, choices) {
  if (text === undefined || text === "") return choices[0];
  if (!choices.includes(text)) throw new Error(`${name}=${text}: it takes ${choices.join(" or ")}`);
  return text;
}
