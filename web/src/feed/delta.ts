// The next view of a run in progress, joined from the previous one and what a second added. Its other half is crates/report/src/live/delta.rs.

import type { Panel, ReportView } from "../view";

export interface Delta {
  /** Leading steps of the previous view that are unchanged. */
  kept: number;
  /** Everything that varies over time begins at step `kept`. */
  view: ReportView;
}

export function joined({ timeline: before }: ReportView, { kept, view }: Delta): ReportView {
  const { timeline } = view;
  const join = <T>(old: readonly T[] | undefined, added: readonly T[]): T[] => [...(old ?? []).slice(0, kept), ...added];
  const panels = (old: readonly Panel[] | undefined, now: readonly Panel[]): Panel[] =>
    now.map((panel, p) => {
      const columns = panel.columns.map((column, c) => ({ ...column, values: join(old?.[p]?.columns[c]?.values, column.values) }));
      return { ...panel, columns };
    });
  return {
    ...view,
    timeline: {
      ...timeline,
      seconds: join(before.seconds, timeline.seconds),
      heat: { ...timeline.heat, steps: join(before.heat.steps, timeline.heat.steps) },
      panels: panels(before.panels, timeline.panels),
      bands: timeline.bands.map((band, b) => ({ ...band, panels: panels(before.bands[b]?.panels, band.panels) })),
    },
  };
}
