// Formats a comparison of two runs (crates/analysis/src/comparison/model.rs, docs/compare.md), and places its intervals.

import { FACTOR_MIN, NONE, change, count, factor, number, rate, seconds, share, signedShare } from "../format/number";
import { inUnit } from "../format/unit";
import type { ComparedRow, ComparedRun, ComparedSubject, RunComparison, ShiftPoint } from "../generated/comparison";

const NAMES: Record<string, string> = {
  p999: "p99.9", cpu_per_request: "CPU per request", value: "mean", value_p50: "p50", value_p95: "p95", value_p99: "p99",
  added_rate: "per second",
};

/** Shares: their change is a difference. */
const isShare = (row: ComparedRow): boolean => row.metric === "failures" || row.metric === "share";

export const metricName = (row: ComparedRow): string => NAMES[row.metric] ?? row.metric;

/** `≥ 12.0 s` if only a lower bound is known. */
export function valueOf(row: ComparedRow, side: "baseline" | "candidate"): string {
  const value = row[side];
  if (value === null) return NONE;
  return `${row.at_least?.includes(side) ? "≥ " : ""}${known(row, value)}`;
}

function known(row: ComparedRow, value: number): string {
  if (row.metric === "rate") return rate(value);
  if (isShare(row)) return share(value);
  if (row.metric === "memory") return inUnit(value, "bytes");
  if (row.metric.startsWith("value")) return inUnit(value, row.unit ?? "");
  if (row.metric === "added_rate") return `${inUnit(value, row.unit ?? "")}/s`;
  return seconds(value);
}

/** Whether the change and its interval are written as factors: one of them is × 10 or more. */
function readsAsFactor(row: ComparedRow): boolean {
  return !isShare(row) && [row.change, row.low, row.high].some((ratio) => ratio !== null && ratio >= FACTOR_MIN);
}

/** `+5.12 %`, `−3.10 %`, `× 750`; percentage points for failures. `≥ +512 %` and `≤ −31 %` if one side is a lower bound. */
export function changeOf(row: ComparedRow): string {
  const bound = row.at_least === undefined || row.change === null ? "" : row.at_least.includes("candidate") ? "≥ " : "≤ ";
  return `${bound}${signed(row)}`;
}

function signed(row: ComparedRow): string {
  if (row.change === null) return NONE;
  if (!isShare(row)) return readsAsFactor(row) ? factor(row.change) : change(row.change);
  return signedShare(row.change).replace(" %", " points");
}

/** The word of a comparison, and the colour of its meaning. The headline follows it. */
export const VERDICTS = {
  better: ["Better", "good"], worse: ["Worse", "bad"], mixed: ["Mixed", "warn"], same: ["No change", "none"], cannot_tell: ["Cannot tell", "warn"],
  not_comparable: ["Not comparable", "bad"],
} as const;

export function verdictOf(row: ComparedRow, effect: number): string {
  if (row.verdict === "same" && isShare(row) && row.baseline === 0 && row.candidate === 0) return "same: none";
  if (row.verdict === "same") return isShare(row) ? "same (±0.1 points)" : `same (±${number(Math.round(effect * 1e6) / 1e4)} %)`;
  if (row.verdict !== "cannot_tell") return row.verdict;
  return row.minutes_needed === undefined ? "cannot tell" : `cannot tell (needs ${seconds(60 * Math.ceil(row.minutes_needed))})`;
}

/** The axis of ratios extends this far from 1 to each side: the first of these, or the first power of ten, that contains them all. */
const WIDTHS = [1.5, 2, 4, 10] as const;

export function widthOf(ratios: number[]): number {
  const far = Math.max(1, ...ratios.filter((ratio) => ratio > 0).map((ratio) => Math.max(ratio, 1 / ratio)));
  return WIDTHS.find((width) => far <= width) ?? 10 ** Math.ceil(Math.log10(far));
}

/** Width for a table: every change, and the intervals of the decided rows. */
export function rowsWidth(rows: ComparedRow[]): number {
  const drawn = rows.filter((row) => barOf(row, WIDTHS[0]) !== null);
  return widthOf(drawn.flatMap((row) => (row.verdict === "cannot_tell" ? [row.change] : [row.low, row.change, row.high])).filter((ratio) => ratio !== null));
}

/** The two ends of the axis: `× ½`, `× 2`. */
export function widthNames(width: number): [string, string] {
  return [width === 1.5 ? "× ⅔" : width === 2 ? "× ½" : width === 4 ? "× ¼" : `× 1/${number(width)}`, `× ${number(width)}`];
}

/** Position on a logarithmic scale, 0 to 1. The end of an interval beyond the axis is at the edge. */
export function placeOf(ratio: number, width: number): number {
  return Math.min(1, Math.max(0, 0.5 + Math.log(ratio) / Math.log(width) / 2));
}

/** Where the interval of a ratio is drawn; `null` if it has none. An end that the samples cannot determine reaches the edge. */
export function barOf(row: ComparedRow, width: number): { from: number; to: number; at: number } | null {
  if (isShare(row) || row.change === null || (row.low === null && row.high === null)) return null;
  const place = (ratio: number) => placeOf(ratio, width);
  return { from: row.low === null ? 0 : place(row.low), to: row.high === null ? 1 : place(row.high), at: place(row.change) };
}

/** Subjects with rows; those that became better or worse are first. Subjects that repeat the only request are left out. */
export function shownSubjects(comparison: RunComparison): ComparedSubject[] {
  const single = comparison.subjects.filter((subject) => subject.kind === "request").length === 1;
  const repeats = (subject: ComparedSubject) => single && (subject.kind === "all" || subject.kind === "scenario");
  // A percentile that both runs have too few samples for is not a number to compare.
  const isMeasured = (row: ComparedRow) => row.baseline !== null || row.candidate !== null;
  const measured = comparison.subjects.map((subject) => ({ ...subject, rows: subject.rows.filter(isMeasured) }));
  const shown = measured.filter((subject) => subject.kind !== "signal" && subject.rows.length > 0 && !repeats(subject));
  const differs = (subject: ComparedSubject) => subject.rows.some((row) => row.verdict === "better" || row.verdict === "worse");
  return [...shown.filter(differs), ...shown.filter((subject) => !differs(subject))];
}

/** The rows next to two overlaid runs: a few rows of each request, group and flow, and only those that both runs measured. */
export function overlaid(comparison: RunComparison): { subject: ComparedSubject; rows: ComparedRow[] }[] {
  const wanted = ["rate", "failures", "p50", "p95", "p99"];
  const rows = (subject: ComparedSubject) => subject.rows.filter((row) => wanted.includes(row.metric) && (row.baseline !== null || row.candidate !== null));
  const ordered = comparison.subjects.filter((subject) => subject.kind !== "signal" && subject.kind !== "target" && subject.kind !== "scenario");
  return ordered.map((subject) => ({ subject, rows: rows(subject) })).filter((one) => one.rows.length > 0);
}

/** `+3.0 to +7.1 %`, `× 612 to × 894`, as in the terminal: `above +3.0 %` if an end is unknown, and `within ±0.1 %` if both round to 0. */
export function intervalOf(row: ComparedRow): string {
  const [unit, asFactor] = [isShare(row) ? " points" : " %", readsAsFactor(row)];
  const tenths = (value: number) => Math.round(1000 * (isShare(row) ? value : value - 1));
  const end = (value: number) => {
    if (asFactor) return factor(value);
    const sign = tenths(value) === 0 ? "" : tenths(value) < 0 ? "−" : "+";
    return `${sign}${(Math.abs(tenths(value)) / 10).toFixed(1)}`;
  };
  const after = asFactor ? "" : unit;
  const { low, high } = row;
  if (low !== null && high !== null) {
    return tenths(low) === 0 && tenths(high) === 0 ? `within ±0.1${unit}` : `${end(low)} to ${end(high)}${after}`;
  }
  if (low !== null) return `above ${end(low)}${after}`;
  return high !== null ? `below ${end(high)}${after}` : NONE;
}

export const movedSignals = (comparison: RunComparison): ComparedSubject[] =>
  comparison.subjects.filter((subject) => subject.kind === "signal" && subject.rows[0]?.verdict === "moved");

export function titleOf(subject: ComparedSubject): string {
  const kinds: Partial<Record<ComparedSubject["kind"], string>> = { group: "group ", scenario: "iterations of ", flow: "flow " };
  if (subject.kind === "all") return "All requests";
  return `${kinds[subject.kind] ?? ""}${subject.group ? `${subject.group} / ` : ""}${subject.name}`;
}

export const runOf = (run: ComparedRun): string =>
  `${run.id}${run.tags.length > 0 ? ` [${run.tags.join(", ")}]` : ""}, ${seconds(run.duration_seconds)}, ${count(run.requests)} requests`;

export interface ShiftMark {
  x: number;
  y: number;
  low: number;
  high: number;
  label: string;
}

/** The picture of a shift function: the quantiles next to each other, each with its ratio and interval, as shares of width and height. */
export function shiftMarks(points: readonly ShiftPoint[], width: number): ShiftMark[] {
  const place = (ratio: number) => placeOf(ratio, width);
  return points.map((point, index) => {
    const ratio = point.candidate / point.baseline;
    return {
      x: (index + 0.5) / points.length,
      y: 1 - place(ratio),
      low: 1 - (point.low === null ? 0 : place(point.low)),
      high: 1 - (point.high === null ? 1 : place(point.high)),
      label: `p${number(point.quantile * 100)}: ${seconds(point.baseline)} → ${seconds(point.candidate)}`,
    };
  });
}
