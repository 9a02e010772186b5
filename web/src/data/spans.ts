// Spans of requests: what the table shows of them, and a trace as bars.

import type { KeptTrace, RequestSpans, SpanRow } from "../generated/report";

/** Spans that the request spends so little time in are left out, unless something is below them. */
const SHARE_MIN = 0.005;

/** Part of the request's time within the system that is the span's own. */
export function shareOf(request: RequestSpans, span: SpanRow): number {
  return request.seconds > 0 ? Math.min(1, span.path_seconds / request.seconds) : 0;
}

/** Whether it takes clearly longer at high load, and by enough that the request is longer for it. */
export function hasGrown(request: RequestSpans, span: SpanRow): boolean {
  const [low, high] = [span.low_path_seconds ?? 0, span.high_path_seconds ?? 0];
  return high > 1.5 * low && high - low > 0.05 * request.seconds;
}

/** What is worth a line, with all that stands above it. */
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
  /** Seconds since the trace began, from start to end, and without a child under way. */
  start: number;
  took: number;
  own: number;
  /** Shares of the width of all. */
  left: number;
  width: number;
}

/** The spans of a trace from top to bottom: each behind the one that it stands below. */
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
