// Lines with a lowest and a highest value per step, from the downsampling of a long run: `x`, `x/min`, `x/max`.

import type { Panel } from "../generated/charts";

export interface ColumnRange {
  /** Indices of the three columns in the panel. */
  of: number;
  min: number;
  max: number;
}

/** `response/max` is not part of a range, because there is no line `response`. */
export function ranges(panel: Panel): ColumnRange[] {
  const place = new Map(panel.columns.map((column, index) => [column.id, index]));
  return panel.columns.flatMap((column, of) => {
    const [min, max] = [place.get(`${column.id}/min`), place.get(`${column.id}/max`)];
    return min !== undefined && max !== undefined ? [{ of, min, max }] : [];
  });
}

/** The columns that a legend lists: all but the edges of ranges. */
export function listed(panel: Panel): { id: string; label: string; index: number }[] {
  const edges = new Set(ranges(panel).flatMap((range) => [range.min, range.max]));
  return panel.columns.map(({ id, label }, index) => ({ id, label, index })).filter(({ index }) => !edges.has(index));
}
