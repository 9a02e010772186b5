// The view of a running test, joined from the one before and what a second added: crates/report/src/live/delta.rs has the other half.

import type { Panel, ReportView } from "../view";

export interface Delta {
  /** Leading steps of the view before that still hold. */
  kept: number;
  /** Everything that varies over time begins at step `kept`. */
  view: ReportView;
}

export function joined({ timeline: before }: ReportView, { kept, view }: Delta): ReportView {
  const { timeline } = view;
  const join = <T>(old: readonly T[] | undefined, added: readonly T[]): T[] => [...(old ?? []).slice(0, kept), ...added];
  const panels = (old: readonly Panel[] | undefined, now: readonly Panel[]): Panel[] =>
    now.map((panel, p) => ({ ...panel, columns: panel.columns.map((column, c) => ({ ...column, values: join(old?.[p]?.columns[c]?.values, column.values) })) }));
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
