import { expect, test } from "vitest";
import type { KeptTrace } from "../generated/report";
import type { RequestSpans, SpanRow } from "../generated/summary";
import { rows, shareOf, waterfall } from "./spans";

const span = (depth: number, name: string, path_seconds: number): SpanRow => ({
  depth, service: "shop", name, kind: "internal", calls: 1, errors: 0, mean_seconds: 1, p95_seconds: 1, own_seconds: 1, path_seconds, before_seconds: 0,
});

test("a span without a share is shown if a descendant has one", () => {
  const request: RequestSpans = {
    scenario: "Shop", name: "List", traces: 10, seconds: 1,
    spans: [span(0, "entry", 0), span(1, "idle", 0), span(1, "call", 0), span(2, "query", 0.9), span(1, "last", 0.1)],
  };
  expect(rows(request).map((row) => row.name)).toEqual(["entry", "call", "query", "last"]);
  expect(shareOf(request, request.spans[3]!)).toBe(0.9);
});

test("a trace is drawn as a tree, each bar at its time", () => {
  const kept = (parent: number | undefined, name: string, start: number, took: number) =>
    ({ parent, service: "shop", name, kind: "internal" as const, start_ns: start, duration_ns: took, own_ns: took });
  const trace: KeptTrace = {
    trace: "1".repeat(32), kept_for: "slow", scenario: "Shop", name: "List", at: 0, total_ns: 100,
    spans: [kept(undefined, "entry", 0, 100), kept(0, "first", 10, 20), kept(0, "second", 40, 60), kept(1, "inner", 15, 5)],
  };
  expect(waterfall(trace).map((bar) => [bar.name, bar.depth, bar.left, bar.width])).toEqual([
    ["entry", 0, 0, 1], ["first", 1, 0.1, 0.2], ["inner", 2, 0.15, 0.05], ["second", 1, 0.4, 0.6],
  ]);
});
