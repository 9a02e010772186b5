// Joins the next view of a run in progress from the previous view and the difference that a second adds. crates/report/src/live/delta.rs is the
// sender.

import type { Panel } from "../generated/charts";
import type { Delta, ReportView } from "../generated/report";

export function joined({ timeline: before, request_charts: charts }: ReportView, { kept, kept_charts, view }: Delta): ReportView {
  const { timeline } = view;
  const join = <T>(old: readonly T[] | undefined, added: readonly T[], steps = kept): T[] => [...(old ?? []).slice(0, steps), ...added];
  const panels = (old: readonly Panel[] | undefined, now: readonly Panel[], steps = kept): Panel[] =>
    now.map((panel, p) => {
      const columns = panel.columns.map((column, c) => ({ ...column, values: join(old?.[p]?.columns[c]?.values, column.values, steps) }));
      return { ...panel, columns };
    });
  return {
    ...view,
    request_charts: view.request_charts.map((one, i) => ({ ...one, panels: panels(charts[i]?.panels, one.panels, kept_charts[i] ?? 0) })),
    timeline: {
      ...timeline,
      seconds: join(before.seconds, timeline.seconds),
      heat: { ...timeline.heat, steps: join(before.heat.steps, timeline.heat.steps) },
      panels: panels(before.panels, timeline.panels),
      bands: timeline.bands.map((band, b) => ({ ...band, panels: panels(before.bands[b]?.panels, band.panels) })),
    },
  };
}
