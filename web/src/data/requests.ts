// The charts of a single request, brought onto the page's time axis.

import type { Panel, RequestCharts, Timeline } from "../generated/report";

/** Each value is repeated over, or taken from, as many steps of the timeline as its own step covers. */
export function onAxis(charts: RequestCharts, timeline: Timeline): Panel[] {
  const at = timeline.seconds.map((second) => Math.floor(second / charts.step_seconds));
  return charts.panels.map((panel) => ({
    ...panel,
    columns: panel.columns.map((column) => ({ ...column, values: at.map((step) => column.values[step] ?? null) })),
  }));
}
