// Percentiles of seconds with too few samples are pooled over several seconds. The legend shows over how many.

import { count, number } from "../format/number";
import type { ChartColumn, Timeline } from "../generated/charts";

/** ` of 8 s (34 samples)` at an instant, ` of 8 s` without one; empty for a column that is not pooled. */
export function poolText(column: ChartColumn | undefined, timeline: Timeline, at: number | null): string {
  if (!column?.pool) return "";
  const { seconds, samples } = column.pool;
  const of = ` of ${number(seconds)} s`;
  const pooled = at === null ? undefined : samples[Math.floor((at - (timeline.seconds[0] ?? 0)) / seconds)];
  return pooled === undefined ? of : `${of} (${count(pooled)} samples)`;
}
