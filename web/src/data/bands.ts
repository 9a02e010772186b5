// Which signals of an observer deserve a chart. An observer may read fifty; most of them say nothing about a given run.

import type { Panel } from "../view";

export interface Sorted {
  /** Drawn at once, in the observer's order. */
  shown: Panel[];
  /** Drawn when asked for. */
  more: Panel[];
  /** Did not change over the run: their value says it all. */
  steady: { panel: Panel; value: number }[];
}

/** Lanes that a band shows before it asks. */
const SHOWN_MAX = 8;

/** The value that a panel had all along; `null` when it changed, or was stacked of several. */
export function constant(panel: Panel): number | null {
  const values = panel.columns.flatMap((column) => column.values.filter((value) => value !== null));
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** `isNamed`: some finding speaks of it. Such a panel is always shown, and first to be. */
export function sortBand(panels: readonly Panel[], isNamed: (panel: Panel) => boolean): Sorted {
  const steady: Sorted["steady"] = [];
  const lively: Panel[] = [];
  for (const panel of panels) {
    const value = constant(panel);
    if (value !== null && !isNamed(panel)) steady.push({ panel, value });
    else lively.push(panel);
  }
  const wanted = new Set([...lively.filter(isNamed), ...lively.filter((panel) => !isNamed(panel)).slice(0, Math.max(0, SHOWN_MAX - lively.filter(isNamed).length))]);
  return { shown: lively.filter((panel) => wanted.has(panel)), more: lively.filter((panel) => !wanted.has(panel)), steady };
}

/** `signal/host/memory_dirty` → `memory_dirty`: the name that a finding or threshold uses, without its observer. */
export function metricOf(panel: Panel, observer: string): string {
  const name = panel.id.replace(/^signal\//, "");
  return name.startsWith(`${observer}/`) ? name.slice(observer.length + 1) : name;
}
