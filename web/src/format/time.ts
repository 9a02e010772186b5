// Formats measured times, with a mark if the load generator may have added to them: the same as crates/report/src/words.rs.

import type { Percentile, TimeStats } from "../generated/summary";
import { count, counted, NONE, quantile, seconds } from "./number";

export function find(times: TimeStats, q: number): Percentile | undefined {
  return times.percentiles.find((p) => Math.abs(p.quantile - q) < 1e-9);
}

/** `38.2 ms`, or `~38.2 ms` if the load generator may have added to it. */
export function marked(value: number | null | undefined, uncertainty: number | undefined): string {
  return `${value != null && uncertainty !== undefined ? "~" : ""}${seconds(value)}`;
}

/** A percentile: `38.2 ms`, or `≥ 3.2 s` if it lies among journeys that did not finish. */
export function percentile(times: TimeStats, q: number): string {
  const p = find(times, q);
  if (!p) return NONE;
  return p.value === null && p.low !== null ? `≥ ${seconds(p.low)}` : marked(p.value, p.uncertainty);
}

/** The maximum: `3.2 s`, or `≥ 3.2 s` if the longest wait was cut off. */
export function longest(times: TimeStats): string {
  return `${times.max !== null && times.max_is_bound ? "≥ " : ""}${marked(times.max, times.max_uncertainty)}`;
}

/** The meaning of the mark. */
export function uncertainty(of: number | undefined): string[] {
  return of === undefined ? [] : [`up to ${seconds(of)} of it may not be the target's`];
}

/** The basis of a percentile: `95 % interval 37.1 ms – 40.0 ms; 412 samples beyond`. */
export function behind(times: TimeStats, q: number): string {
  const p = find(times, q);
  if (!p || (p.value === null && p.low === null)) return `Too few samples for ${quantile(q)}: ${count(times.count)} in total`;
  if (p.value === null) return "Among journeys that did not finish";
  // A run may be too short for an upper bound.
  const interval = p.low === null ? [] : [p.high === null ? `at least ${seconds(p.low)} (95 %)` : `95 % interval ${seconds(p.low)} – ${seconds(p.high)}`];
  return [...interval, `${counted(p.samples_beyond, "sample")} beyond`, ...uncertainty(p.uncertainty)].join("; ");
}

/** Notes on a maximum; empty if there are none. */
export function behindLongest(times: TimeStats): string | undefined {
  const bound = times.max_is_bound ? ["the longest wait was cut off, so the true maximum is this or more"] : [];
  return [...bound, ...uncertainty(times.max_uncertainty)].join("; ") || undefined;
}
