// The table of resources in words: the same as crates/report/src/words.rs and its terminal.

import { number, seconds, share } from "../format/number";
import { tied } from "../format/prose";
import { inUnit } from "../format/unit";
import type { ResourceKind, ResourceRow, ResourceUse } from "../generated/report";

/** What of a resource was looked at, beside its name. */
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

/** From this share on, a resource has hardly a place left. */
const NEARLY_FULL = 0.9;

export function isObserved(row: ResourceRow): boolean {
  return row.high !== undefined;
}

/** Empty for what was not observed: its name says what it would be. */
export function kindOf(row: ResourceRow): string {
  return isObserved(row) ? (KINDS[row.kind] ?? row.kind) : "";
}

export function limitOf(row: ResourceRow): string {
  if (row.limit === undefined) return "";
  return row.unit === "bytes" ? inUnit(row.limit, row.unit) : `${number(row.limit)} ${row.limit === 1 ? row.unit.replace(/s$/, "") : row.unit}`.trim();
}

/** How much was in use: `1.95 (98 %)`; empty where that was not measured. */
export function inUse(row: ResourceRow, use: ResourceUse | undefined): string {
  if (use?.used === undefined) return use?.utilisation === undefined ? "" : tied(share(use.utilisation));
  const amount = row.kind === "event_loop" ? `${seconds(use.used)} late` : inUnit(use.used, row.unit);
  return tied(use.utilisation === undefined ? amount : `${amount} (${share(use.utilisation)})`);
}

export function isNearlyFull(use: ResourceUse | undefined): boolean {
  return (use?.utilisation ?? 0) >= NEARLY_FULL;
}
