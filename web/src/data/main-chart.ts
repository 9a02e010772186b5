// What the chart at the top draws: for all requests, or for the selected one.

import type { ChartColumn, Panel } from "../generated/charts";
import type { ReportView } from "../generated/report";
import { onAxis } from "./requests";

export interface MainColumn {
  column: ChartColumn;
  label: string;
  unit: "s" | "/s";
}

const WANTED: [id: string, label: string, unit: "s" | "/s"][] = [
  ["rate/ended", "iterations ended", "/s"],
  ["rate/requests", "requests", "/s"],
  ["rate/failures", "failed requests", "/s"],
  ["rate/asked", "arrivals asked", "/s"],
  ["response/p50", "p50", "s"],
  ["response/p95", "p95", "s"],
  ["response/p99", "p99", "s"],
];

export function mainColumns(view: ReportView, row: number | null): MainColumn[] {
  const charts = row === null ? undefined : view.request_charts[row];
  const panels: Panel[] = charts ? onAxis(charts, view.timeline) : view.timeline.panels;
  const columns = panels.flatMap((panel) => panel.columns);
  const left = servedLeftOut(columns);
  return WANTED.filter(([id]) => id !== left).flatMap(([id, label, unit]) => {
    const column = columns.find((column) => column.id === id);
    const isEmpty = column === undefined || column.values.every((value) => value === null || (id === "rate/failures" && value === 0));
    return isEmpty ? [] : [{ column, label, unit }];
  });
}

/**
 * The served rate that is not drawn. An arrival asks for an iteration, so iterations are comparable with arrivals, and requests are not. Iterations that
 * last long, such as subscriptions, end too rarely for a line.
 */
function servedLeftOut(columns: readonly ChartColumn[]): string {
  const ended = columns.find((column) => column.id === "rate/ended")?.values ?? [];
  const often = ended.filter((value) => value !== null && value > 0).length * 2 >= ended.length;
  return ended.length > 0 && often ? "rate/requests" : "rate/ended";
}

export interface TimeBound {
  label: string;
  seconds: number;
}

/** The upper bounds of response times: of all requests, or also of the selected one. */
export function timeBounds(view: ReportView, row: number | null): TimeBound[] {
  const name = row === null ? null : view.summary.requests[row]?.name;
  const bounds = view.summary.verdict.thresholds.flatMap(({ threshold }) => {
    const isUpper = threshold.bound.comparison === "below" || threshold.bound.comparison === "at_most";
    const isOfTimes = threshold.metric === "response_time" && threshold.aggregate !== "count";
    const { name: of, group } = threshold.selector;
    return isUpper && isOfTimes && (of ?? null) === name && group === null ? [{ label: threshold.label, seconds: threshold.bound.value }] : [];
  });
  return bounds.slice(0, 3);
}
