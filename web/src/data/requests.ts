// The charts of a single request, aligned to the page's time axis.

import type { Panel, Timeline } from "../generated/charts";
import type { RequestCharts } from "../generated/report";

/** Each value is repeated over, or sampled from, the steps of the timeline that its own step covers. */
export function onAxis(charts: RequestCharts, timeline: Timeline): Panel[] {
  const at = timeline.seconds.map((second) => Math.floor(second / charts.step_seconds));
  return charts.panels.map((panel) => ({
    ...panel,
    columns: panel.columns.map((column) => ({ ...column, values: at.map((step) => column.values[step] ?? null) })),
  }));
}
