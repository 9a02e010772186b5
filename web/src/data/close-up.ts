// A long run second by second, where its seconds were kept.

import type { CloseUp, Timeline } from "../generated/report";

/** The stretch that holds the whole interval, as a timeline of its own; `null`: none does. */
export function closeUpAt(timeline: Timeline, from: number, to: number): Timeline | null {
  const held = timeline.close_ups?.find((closeUp) => closeUp.from_seconds <= from && to <= closeUp.from_seconds + lengthOf(closeUp));
  return held ? timelineOf(held) : null;
}

/** Seconds. */
export function lengthOf(closeUp: CloseUp): number {
  return closeUp.panels[0]?.columns[0]?.values.length ?? 0;
}

/** One for each, so that a chart that is moved over it keeps its data. */
const made = new WeakMap<CloseUp, Timeline>();

function timelineOf(closeUp: CloseUp): Timeline {
  const known = made.get(closeUp);
  if (known) return known;
  const seconds = Array.from({ length: lengthOf(closeUp) }, (_, index) => closeUp.from_seconds + index);
  const timeline = { seconds, step_seconds: 1, panels: closeUp.panels, heat: { edges: [], steps: [] }, bands: [], marks: [] };
  made.set(closeUp, timeline);
  return timeline;
}
