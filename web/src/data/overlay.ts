// Two runs on one time axis, both from their own second 0.

import type { ChartColumn, Panel } from "../generated/charts";
import type { ReportView } from "../generated/report";
import { stepAt } from "./columns";

/** The lines of another run that help to compare. All lines would be too many. */
const COMPARED = new Set(["rate/requests", "response/p50", "response/p95", "response/p99", "users/active"]);

/** Prefix of the other run's column ids. */
export const OTHER = "other/";

/** The view with the lines of the other run over its own. The axis is as long as the longer run. */
export function overlay(view: ReportView, other: ReportView): ReportView {
  const { timeline } = view;
  const seconds = [...timeline.seconds];
  const end = (other.timeline.seconds.at(-1) ?? 0) + other.timeline.step_seconds;
  for (let next = seconds.length * timeline.step_seconds; next < end; next += timeline.step_seconds) seconds.push(next);

  const theirs = (at: number, column: ChartColumn) => (at < end ? (column.values[stepAt(other.timeline, at)] ?? null) : null);
  const laid = (panel: Panel): Panel => {
    const match = other.timeline.panels.find((candidate) => candidate.id === panel.id);
    const added = (match?.columns ?? [])
      .filter((column) => COMPARED.has(column.id))
      .map((column) => ({ id: `${OTHER}${column.id}`, label: `${column.label}, other run`, values: seconds.map((at) => theirs(at, column)) }));
    const own = panel.columns.map((column) => ({ ...column, values: seconds.map((_, step) => column.values[step] ?? null) }));
    return { ...panel, columns: panel.stacked ? own : [...own, ...added] };
  };
  return {
    ...view,
    timeline: {
      ...timeline,
      seconds,
      panels: timeline.panels.map(laid),
      bands: timeline.bands.map((band) => ({ ...band, panels: band.panels.map(laid) })),
      // Charts by request have no lines of the other run.
      close_ups: [],
    },
  };
}
