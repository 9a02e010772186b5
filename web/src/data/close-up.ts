// A long run second by second, as far as its seconds were stored.

import type { CloseUp, Timeline } from "../generated/charts";

/** The part that contains the whole interval, as a timeline; `null` if none does. */
export function closeUpAt(timeline: Timeline, from: number, to: number): Timeline | null {
  const closeUp = timeline.close_ups?.find((closeUp) => closeUp.from_seconds <= from && to <= closeUp.from_seconds + lengthOf(closeUp));
  return closeUp ? timelineOf(closeUp) : null;
}

/** Seconds. */
export function lengthOf(closeUp: CloseUp): number {
  return closeUp.panels[0]?.columns[0]?.values.length ?? 0;
}

/** One timeline for each part, so that a chart that moves within it keeps its data. */
const timelines = new WeakMap<CloseUp, Timeline>();

function timelineOf(closeUp: CloseUp): Timeline {
  const known = timelines.get(closeUp);
  if (known) return known;
  const seconds = Array.from({ length: lengthOf(closeUp) }, (_, index) => closeUp.from_seconds + index);
  const timeline = { seconds, step_seconds: 1, panels: closeUp.panels, heat: { edges: [], steps: [] }, bands: [], marks: [] };
  timelines.set(closeUp, timeline);
  return timeline;
}
