// The faults of this lab, as environment variables. Without any, both services are healthy.

/**
 * Reads the settings of the services.
 *
 * | variable | healthy | fault |
 * |---|---|---|
 * | DB_POOL | 20 connections of the issuing service to its database | 2 |
 * | PER_CONNECTION_HEAP | low: all connections of validators share one copy of the tariffs | high: each has its own |
 * | SLOW_TAP | 0%: no tap is slow | 1%: one barcode in a hundred takes 600 ms |
 */
export function readSettings(environment) {
  return {
    databaseConnections: count("DB_POOL", environment.DB_POOL, 20),
    ownTariffs: choice("PER_CONNECTION_HEAP", environment.PER_CONNECTION_HEAP, ["low", "high"]) === "high",
    slowTapShare: share("SLOW_TAP", environment.SLOW_TAP),
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

function share(name, text) {
  if (text === undefined || text === "") return 0;
  const percent = /^([0-9]{1,2}(?:\.[0-9]+)?)%$/.exec(text);
  if (percent === null) throw new Error(`${name}=${text}: it takes a share such as 1%`);
  return Number(percent[1]) / 100;
}
