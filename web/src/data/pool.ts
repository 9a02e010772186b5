// Percentiles of seconds with too few samples are pooled over several seconds. The legend shows over how many.

import { count, number } from "../format/number";
import type { ChartColumn, Timeline } from "../generated/charts";

/** ` of 8 s (34 samples)` at an instant, ` of 8 s` without one; empty for a column that is not pooled. The last span ends with the run. */
export function poolText(column: ChartColumn | undefined, timeline: Timeline, at: number | null): string {
  if (!column?.pool) return "";
  const { seconds, samples } = column.pool;
  const starts = timeline.seconds;
  const first = starts[0] ?? 0;
  const total = (starts.at(-1) ?? 0) - first + ((starts[1] ?? first + 1) - first);
  if (at === null) return ` of ${number(Math.min(seconds, total))} s`;
  const span = Math.floor((at - first) / seconds);
  const of = ` of ${number(Math.min(seconds, total - span * seconds))} s`;
  const pooled = samples[span];
  return pooled === undefined ? of : `${of} (${count(pooled)} samples)`;
}
