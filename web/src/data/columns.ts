// Questions about the columns of the timeline: which are empty, which contain an instant, which a finding names.

import type { ChartColumn, Panel, Timeline } from "../generated/charts";
import { speaksOf } from "./evidence";

export function isEmpty(panel: Panel): boolean {
  return panel.columns.every((column) => column.values.every((value) => value === null || value === 0));
}

/** Index of the step that contains an instant. */
export function stepAt(timeline: Timeline, at: number): number {
  const { seconds } = timeline;
  let [low, high] = [0, seconds.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((seconds[middle] as number) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface FoundColumn {
  column: ChartColumn;
  panel: Panel;
  index: number;
}

/** The columns that a finding's evidence names, each with its panel. */
export function find(timeline: Timeline, names: readonly string[]): FoundColumn[] {
  const panels = [...timeline.panels, ...timeline.bands.flatMap((band) => band.panels)];
  const columns = panels.flatMap((panel) => panel.columns.map((column, index) => ({ column, panel, index })));
  return columns.filter(({ column }) => names.some((name) => speaksOf(name, column.id)));
}

/** The largest value between two instants, and its time. */
export function peak(timeline: Timeline, column: ChartColumn, from: number, to: number): { value: number; at: number } | null {
  let best: { value: number; at: number } | null = null;
  timeline.seconds.forEach((at, step) => {
    const value = column.values[step];
    if (value != null && at >= from && at <= to && (best === null || value > best.value)) best = { value, at };
  });
  return best;
}

/** At most `points` values. Each is the largest of its part, so that no peak is lost. */
export function thin(values: readonly (number | null)[], points: number): (number | null)[] {
  const size = Math.max(1, Math.ceil(values.length / points));
  const out: (number | null)[] = [];
  for (let from = 0; from < values.length; from += size) {
    let largest: number | null = null;
    for (let i = from; i < Math.min(from + size, values.length); i++) {
      const value = values[i];
      if (value != null && (largest === null || value > largest)) largest = value;
    }
    out.push(largest);
  }
  return out;
}

/** Charts that are seldom the cause. The screen folds them. */
export const isAside = (id: string): boolean => id === "in_flight" || id === "bytes";

/** On paper, the appendix shows it: the first two pages have room for rate, response times and failures. */
export const isOfAppendix = (id: string): boolean => id === "users" || id === "phases";

export const isFolded = (id: string): boolean => isAside(id) || id.startsWith("generator");
