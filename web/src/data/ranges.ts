// Lines that a long run's downsampling gave a lowest and a highest value per step: `x`, `x/min`, `x/max`.

import type { Panel } from "../view";

export interface Range {
  /** Places of the three columns in the panel. */
  of: number;
  min: number;
  max: number;
}

/** `response/max` is no range: there is no line `response` that it would belong to. */
export function ranges(panel: Panel): Range[] {
  const place = new Map(panel.columns.map((column, index) => [column.id, index]));
  return panel.columns.flatMap((column, of) => {
    const [min, max] = [place.get(`${column.id}/min`), place.get(`${column.id}/max`)];
    return min !== undefined && max !== undefined ? [{ of, min, max }] : [];
  });
}

/** The columns that a legend lists: those that are not an edge of another's range. */
export function listed(panel: Panel): { id: string; label: string; index: number }[] {
  const edges = new Set(ranges(panel).flatMap((range) => [range.min, range.max]));
  return panel.columns.map(({ id, label }, index) => ({ id, label, index })).filter(({ index }) => !edges.has(index));
}
