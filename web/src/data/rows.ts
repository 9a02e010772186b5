// Sorts and filters the table of requests.

import { find } from "../format/time";
import type { RequestRow, TimeStats } from "../generated/summary";
import type { ThresholdResult } from "../generated/verdict";

export interface TableRow {
  row: RequestRow;
  spark: (number | null)[];
  /** The threshold that it breaks, in words. */
  breaks?: string | undefined;
}

export type SortKey = "importance" | "name" | "count" | "rate" | "failed" | "mean" | "p50" | "p95" | "p99" | "max";

export interface TableSort {
  key: SortKey;
  descending: boolean;
}

export function at(times: TimeStats, quantile: number): number | null {
  return find(times, quantile)?.value ?? null;
}

export function failedShare(row: RequestRow): number {
  return row.count > 0 ? row.failed / row.count : 0;
}

function valueOf(row: RequestRow, key: Exclude<SortKey, "name" | "importance">): number | null {
  switch (key) {
    case "count": return row.count;
    case "rate": return row.rate;
    case "failed": return failedShare(row);
    case "mean": return row.response.mean;
    case "p50": return at(row.response, 0.5);
    case "p95": return at(row.response, 0.95);
    case "p99": return at(row.response, 0.99);
    case "max": return row.response.max;
  }
}

/** Rows without a value are last in both directions; equal rows keep their order. */
export function sorted(rows: readonly TableRow[], sort: TableSort): TableRow[] {
  const sign = sort.descending ? -1 : 1;
  const { key } = sort;
  if (key === "importance") return byImportance(rows);
  if (key === "name") return rows.toSorted((a, b) => sign * a.row.name.localeCompare(b.row.name, "en", { numeric: true }));
  return rows.toSorted((a, b) => {
    const [x, y] = [valueOf(a.row, key), valueOf(b.row, key)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (x - y);
  });
}

/** Rows that break a threshold, then those with the most failures, then the slowest. */
function byImportance(rows: readonly TableRow[]): TableRow[] {
  const rank = ({ row, breaks }: TableRow) => [breaks ? 1 : 0, row.failed, at(row.response, 0.95) ?? row.response.max ?? 0] as const;
  return rows.toSorted((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    const differing = x.findIndex((value, i) => value !== y[i]);
    return differing < 0 ? 0 : y[differing]! - x[differing]!;
  });
}

/** The names of requests and groups that break a threshold, each with the threshold's label. */
export function breaches(results: readonly ThresholdResult[]): Map<string, string> {
  const failed = results.filter((result) => result.state === "failed" || result.failing === true);
  return new Map(failed.flatMap(({ threshold }) => (threshold.selector.name === null ? [] : [[threshold.selector.name, threshold.label]])));
}

/** Every word of the filter must occur in the row's name, group or scenario. */
export function matching(rows: readonly TableRow[], filter: string): TableRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ row }) => {
    const text = `${row.name} ${row.group ?? ""} ${row.scenario}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
