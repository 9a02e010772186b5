// Describes a chart in one sentence, for readers who cannot see it.

import { peak } from "../data/columns";
import { clock, inUnit } from "../format/unit";
import type { Panel, Timeline } from "../generated/charts";

export function chartSummary(panel: Panel, timeline: Timeline): string {
  const end = timeline.seconds.at(-1) ?? 0;
  const parts = panel.columns.slice(0, 8).flatMap((column) => {
    const top = peak(timeline, column, 0, end);
    return top ? [`${column.label} at most ${inUnit(top.value, panel.unit)} at ${clock(top.at)}`] : [];
  });
  return parts.length > 0 ? `${parts.join("; ")}.` : "No values.";
}
