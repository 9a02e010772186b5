// What the validation service knows of its validators: the tariffs they are sent, and how many are connected.

import { gauge } from "./metrics.mjs";

const ZONES = 2500;

/** Tariffs of all zones, as the issuer publishes them: some 250 KB of JSON, several times that as objects. */
export const tariffsAsJson = JSON.stringify(
  ["OneHour", "OneDay", "OneWeek", "OneYear"].flatMap((product, index) =>
    Array.from({ length: ZONES / 4 }, (_, zone) => ({ product, zone: `Z${zone}`, cents: 100 + index * 37 + zone, valid: { from: "05:00", to: "24:00" } })),
  ),
);

/** Shows connections and decisions in the service's metrics. */
export function countValidators(sockets, log) {
  gauge("validators_connected", "Open connections of validators", () => sockets.clients.size);
  gauge("decisions_waiting", "Decisions not yet stored", () => log.waiting);
  gauge("decisions_stored", "Decisions stored since the start", () => log.stored);
  gauge("decisions_lost", "Decisions given up since the start", () => log.lost);
}
