// The table of resources in words. crates/report/src/words.rs has the same words for the terminal.

import { number, seconds, share } from "../format/number";
import { tied } from "../format/prose";
import { inUnit } from "../format/unit";
import type { ResourceKind, ResourceRow, ResourceUse } from "../generated/summary";

/** The kind of use, next to the name of the resource. */
const KINDS: Record<ResourceKind, string> = {
  load: "",
  process: "CPU",
  thread: "busiest thread",
  group: "CPU",
  machine: "CPU",
  pool: "pool",
  sessions: "sessions",
  endpoint: "",
  queue: "queue",
  heap: "collecting garbage",
  event_loop: "event loop",
  descriptors: "descriptors",
  disk: "disk",
  network: "network",
};

/** From this share on, a resource is almost full. */
const NEARLY_FULL = 0.9;

export function isObserved(row: ResourceRow): boolean {
  return row.high !== undefined;
}

/** Empty if the resource was not observed: its name is enough then. */
export function kindOf(row: ResourceRow): string {
  return isObserved(row) ? (KINDS[row.kind] ?? row.kind) : "";
}

export function limitOf(row: ResourceRow): string {
  return row.limit === undefined ? "" : inUnit(row.limit, row.unit);
}

/** How much was in use: `1.95 (98 %)`. Empty if it was not measured. */
export function inUse(row: ResourceRow, use: ResourceUse | undefined): string {
  if (use?.used === undefined) return use?.utilisation === undefined ? "" : tied(share(use.utilisation));
  const amount = row.kind === "event_loop" ? `${seconds(use.used)} late` : number(use.used);
  return tied(use.utilisation === undefined ? amount : `${amount} (${share(use.utilisation)})`);
}

export function isNearlyFull(use: ResourceUse | undefined): boolean {
  return (use?.utilisation ?? 0) >= NEARLY_FULL;
}
