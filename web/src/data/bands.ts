// Selects the signals of an observer that get a chart. An observer may read fifty, most of which contribute nothing to a given run. Read `sortBand`
// first.

import type { Band, Panel } from "../generated/charts";
import type { ReportView } from "../generated/report";
import { speaksOf } from "./evidence";

export interface SortedBand {
  /** Drawn at once, in the observer's order. */
  shown: Panel[];
  /** Drawn on request. */
  more: Panel[];
  /** Did not change during the run, so that one value describes them. */
  steady: { panel: Panel; value: number }[];
}

/** Number of lanes that a band shows at first. */
const SHOWN_MAX = 8;

/** The constant value of a panel; `null` if it changed during the run. */
export function constant(panel: Panel): number | null {
  const values = panel.columns.flatMap((column) => column.values.filter((value) => value !== null));
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** `isNamed`: a finding names the panel. Such a panel is always shown, and is first. */
export function sortBand(panels: readonly Panel[], isNamed: (panel: Panel) => boolean): SortedBand {
  const steady: SortedBand["steady"] = [];
  const lively: Panel[] = [];
  for (const panel of panels) {
    const value = constant(panel);
    if (value !== null && !isNamed(panel)) steady.push({ panel, value });
    else lively.push(panel);
  }
  const named = lively.filter(isNamed);
  const others = lively.filter((panel) => !isNamed(panel)).slice(0, Math.max(0, SHOWN_MAX - named.length));
  const wanted = new Set([...named, ...others]);
  return { shown: lively.filter((panel) => wanted.has(panel)), more: lively.filter((panel) => !wanted.has(panel)), steady };
}

/** `signal/host/memory_dirty` → `memory_dirty`: the name that findings and thresholds use, without its observer. */
export function metricOf(panel: Panel, observer: string): string {
  const name = panel.id.replace(/^signal\//, "");
  return name.startsWith(`${observer}/`) ? name.slice(observer.length + 1) : name;
}

/** Bands that findings rest on are first, then those closest to the system under test: its processes, its data stores, and finally the machine. */
export function bandsInOrder(bands: readonly Band[], evidence: readonly string[]): Band[] {
  const isNamed = (band: Band) => band.panels.some((panel) => panel.columns.some((column) => evidence.some((name) => speaksOf(name, column.id))));
  const rank = (band: Band) => (isNamed(band) ? 0 : /^process\b/.test(band.observer) ? 1 : /^(host|generator)\b/.test(band.observer) ? 3 : 2);
  return bands.toSorted((a, b) => rank(a) - rank(b));
}

export function bandsOf({ timeline, summary }: ReportView): Band[] {
  return bandsInOrder(timeline.bands, summary.verdict.findings.findings.flatMap((finding) => finding.evidence.flatMap((one) => one.series)));
}
