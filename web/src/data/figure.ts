// The picture of one piece of evidence: the series that its sentence was computed from, with the sentence's numbers as lines.

import type { ChartColumn, Panel } from "../generated/charts";
import type { ReportView } from "../generated/report";
import type { RequestRow } from "../generated/summary";
import type { Evidence, EvidenceLine } from "../generated/verdict";
import { find } from "./columns";
import { speaksOf } from "./evidence";

export interface FigurePlot {
  panel: string;
  title: string;
  unit: string;
  /** Seconds from one value to the next. */
  step: number;
  columns: ChartColumn[];
  /** Position of each column in its chart, which decides its colour. */
  places: number[];
  lines: EvidenceLine[];
}

export interface FigureOfTimes {
  bars: [from: number, to: number, count: number][];
  marks: { label: string; seconds: number }[];
}

export interface EvidencePicture {
  plots: FigurePlot[];
  times: FigureOfTimes | null;
}

/** One picture has room for two units. */
const PLOTS_MAX = 2;
const COLUMNS_MAX = 6;

export function pictureOf(view: ReportView, evidence: Evidence, finding: number, index: number): EvidencePicture {
  const own = view.evidence_charts?.[finding]?.[index];
  const ownIds = new Set((own?.panels ?? []).flatMap((panel) => panel.columns.map((column) => column.id)));
  // The load of the whole run is not what was asked of one request: a line of the evidence shows that.
  const shared = evidence.series.filter((name) => !ownIds.has(name) && !(evidence.requests?.length && name === "rate/asked"));
  const byPanel = new Map<Panel, { columns: ChartColumn[]; places: number[] }>();
  for (const { column, panel, index: place } of ownIds.size > 0 ? [] : find(view.timeline, shared)) {
    const found = byPanel.get(panel) ?? { columns: [], places: [] };
    if (found.columns.length < COLUMNS_MAX) {
      found.columns.push(column);
      found.places.push(place);
    }
    byPanel.set(panel, found);
  }
  const plots = [
    ...(own?.panels ?? []).map((panel) => ({ panel, columns: panel.columns, places: panel.columns.map((_, i) => i), step: own!.step_seconds })),
    ...[...byPanel].map(([panel, { columns, places }]) => ({ panel, columns, places, step: view.timeline.step_seconds })),
  ].map(({ panel: { id, title, unit }, columns, places, step }) => ({ panel: id, title, unit, step, columns, places, lines: linesOf(evidence, columns) }));
  // The first series that a sentence rests on is the most telling one.
  const rank = (plot: FigurePlot) => Math.min(...plot.columns.map((column) => evidence.series.findIndex((name) => speaksOf(name, column.id))));
  plots.sort((a, b) => rank(a) - rank(b));
  const withLines = plots.filter((plot) => plot.lines.length > 0);
  const bars = own?.distribution ?? [];
  const ofTimes = (evidence.lines ?? []).filter((line) => line.series === "distribution");
  const marks = ofTimes.map((line) => ({ label: line.label, seconds: line.points[0]![1] }));
  const times = bars.length > 0 && marks.length > 0 ? { bars, marks } : null;
  return { plots: times ? [] : (withLines.length > 0 ? withLines : plots.slice(0, 1)).slice(0, PLOTS_MAX), times };
}

function linesOf(evidence: Evidence, columns: ChartColumn[]): EvidenceLine[] {
  return (evidence.lines ?? []).filter((line) => columns.some((column) => column.id === line.series || column.id === `signal/${line.series}`));
}

/** The constant value of a line; `null` if it is not a level. */
export function levelOf(line: EvidenceLine): number | null {
  const [first, ...rest] = line.points;
  return first && rest.every(([, value]) => value === first[1]) ? first[1] : null;
}

/** The highest value of a picture. */
export function topOf(plot: FigurePlot): number {
  const values = plot.columns.flatMap((column) => column.values.map((value) => value ?? 0));
  return Math.max(1e-12, ...values, ...plot.lines.flatMap((line) => line.points.map(([, value]) => value)));
}

/** About four round values from 0 to the top. */
export function roundTicks(top: number): number[] {
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough)!;
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

/** Rows of the table whose series the evidence draws, by index. */
export function rowsOf(view: ReportView, evidence: Evidence): number[] {
  const names = new Set(evidence.requests ?? []);
  const { requests } = view.summary;
  // As findings name requests: crates/analysis/src/request_names.rs.
  const isShared = (row: RequestRow) => requests.some((other) => other.name === row.name && other.scenario !== row.scenario);
  const shown = (row: RequestRow) => (isShared(row) ? `${row.name} (${row.scenario})` : row.name);
  return requests.flatMap((row, index) => (names.has(shown(row)) ? [index] : []));
}
