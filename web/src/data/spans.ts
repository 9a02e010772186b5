// Spans of requests: the rows of the table, and a trace as bars.

import type { KeptTrace } from "../generated/report";
import type { RequestSpans, SpanRow } from "../generated/summary";

/** Spans with a smaller share of the request's time are left out, unless a shown span is below them. */
const SHARE_MIN = 0.005;

/** Share of the request's time that is the span's own time. */
export function shareOf(request: RequestSpans, span: SpanRow): number {
  return request.seconds > 0 ? Math.min(1, span.path_seconds / request.seconds) : 0;
}

/** Whether it takes clearly longer at high load, and enough to make the request longer. */
export function hasGrown(request: RequestSpans, span: SpanRow): boolean {
  const [low, high] = [span.low_path_seconds ?? 0, span.high_path_seconds ?? 0];
  return high > 1.5 * low && high - low > 0.05 * request.seconds;
}

/** The spans worth showing, with all of their ancestors. */
export function rows(request: RequestSpans): SpanRow[] {
  const shown = new Set<number>();
  request.spans.forEach((span, place) => {
    if (shareOf(request, span) < SHARE_MIN) return;
    shown.add(place);
    let depth = span.depth;
    for (let above = place - 1; above >= 0; above -= 1) {
      const other = request.spans[above];
      if (other && other.depth < depth) {
        depth = other.depth;
        shown.add(above);
      }
    }
  });
  return request.spans.filter((_, place) => shown.has(place));
}

const WHY = { slow: "slow", failed: "failed", sample: "by chance" } as const;

export function title(trace: KeptTrace): string {
  return WHY[trace.kept_for] ?? trace.kept_for;
}

export interface Bar {
  name: string;
  service: string;
  depth: number;
  failed: boolean;
  /** Seconds since the trace began, total duration, and duration without an active child. */
  start: number;
  took: number;
  own: number;
  /** Shares of the total width. */
  left: number;
  width: number;
}

/** The spans of a trace from top to bottom: each follows its parent. */
export function waterfall(trace: KeptTrace): Bar[] {
  const whole = Math.max(trace.total_ns, ...trace.spans.map((span) => span.start_ns + span.duration_ns), 1);
  const bars: Bar[] = [];
  const below = (parent: number | undefined, depth: number) => {
    trace.spans.forEach((span, place) => {
      if (span.parent !== parent || depth > trace.spans.length) return;
      bars.push({
        name: span.name,
        service: span.service,
        depth,
        failed: span.failed ?? false,
        start: span.start_ns / 1e9,
        took: span.duration_ns / 1e9,
        own: span.own_ns / 1e9,
        left: span.start_ns / whole,
        width: span.duration_ns / whole,
      });
      below(place, depth + 1);
    });
  };
  below(undefined, 0);
  return bars;
}
