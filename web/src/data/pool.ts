// Percentiles of seconds with too few samples are pooled over several seconds. The legend shows over how many.

import { count, number } from "../format/number";
import type { ChartColumn, Timeline } from "../generated/charts";

/** ` of 8 s (34 samples)` at an instant, ` of 1–8 s` without one; empty for a column that is not pooled. */
export function poolText(column: ChartColumn | undefined, timeline: Timeline, at: number | null): string {
  if (!column?.pools) return "";
  if (at === null) {
    const lengths = column.pools.filter((pool) => pool.samples > 0).map((pool) => pool.seconds);
    if (lengths.length === 0) return "";
    const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)];
    return shortest === longest ? ` of ${number(longest)} s` : ` of ${number(shortest)}–${number(longest)} s`;
  }
  let end = timeline.seconds[0] ?? 0;
  const pool = column.pools.find(({ seconds }) => at < (end += seconds));
  return pool ? ` of ${number(pool.seconds)} s (${count(pool.samples)} samples)` : "";
}
