import { expect, test } from "vitest";
import type { Timeline } from "../generated/charts";
import type { RequestRow } from "../generated/summary";
import { bandsInOrder, metricOf, sortBand } from "./bands";
import { find, isEmpty, peak, stepAt, thin } from "./columns";
import { speaksOf } from "./evidence";
import { listed, ranges } from "./ranges";
import { matching, sorted, type TableRow } from "./rows";
import { stack } from "./stack";

function row(name: string, count: number, p95: number | null): TableRow {
  const times = { count, mean: p95, min: 0, max: p95, percentiles: [{ quantile: 0.95, value: p95, low: null, high: null, samples_beyond: 0 }] };
  return { row: { kind: "request", scenario: "Buy", name, count, failed: 0, rate: count / 10, response: times } as unknown as RequestRow, spark: [] };
}

test("the top of stacked columns is the sum of the visible ones", () => {
  const columns = [[1, 2, null], [10, null, null], [100, 200, null]];
  expect(stack(columns, [false, false, false])).toEqual([[1, 2, null], [11, 2, null], [111, 202, null]]);
  expect(stack(columns, [false, true, false]).at(-1)).toEqual([101, 202, null]);
});

test("sorting puts rows without a value last in both directions", () => {
  const rows = [row("b", 5, null), row("a 10", 7, 0.2), row("a 9", 1, 0.4)];
  const names = (key: "name" | "p95" | "count", descending: boolean) => sorted(rows, { key, descending }).map(({ row }) => row.name);
  expect(names("p95", true)).toEqual(["a 9", "a 10", "b"]);
  expect(names("p95", false)).toEqual(["a 10", "a 9", "b"]);
  expect(names("count", true)).toEqual(["a 10", "b", "a 9"]);
  expect(names("name", false)).toEqual(["a 9", "a 10", "b"]);
});

test("the filter requires every word, in name or scenario", () => {
  const rows = [row("Create ticket", 1, 1), row("List products", 1, 1)];
  expect(matching(rows, "buy TICKET").map(({ row }) => row.name)).toEqual(["Create ticket"]);
  expect(matching(rows, " ")).toHaveLength(2);
});

const timeline = {
  seconds: [0, 3, 6, 9],
  step_seconds: 3,
  panels: [{ id: "rate", title: "", unit: "/s", stacked: false, columns: [{ id: "rate/asked", label: "asked", values: [1, 5, null, 2] }] }],
  bands: [
    {
      observer: "pg",
      panels: [{ id: "s", title: "", unit: "1", stacked: true, columns: [{ id: "signal/pg/sessions", label: "s", values: [0, 0, null, 0] }] }],
    },
  ],
} as unknown as Timeline;

test("steps, peaks and names are found", () => {
  expect([0, 2.9, 3, 8, 100].map((at) => stepAt(timeline, at))).toEqual([0, 0, 1, 2, 3]);
  const column = timeline.panels[0]!.columns[0]!;
  expect(peak(timeline, column, 0, 9)).toEqual({ value: 5, at: 3 });
  expect(peak(timeline, column, 4, 7)).toBeNull();
  expect(find(timeline, ["pg/sessions", "rate/asked"]).map(({ column }) => column.id)).toEqual(["rate/asked", "signal/pg/sessions"]);
  expect([isEmpty(timeline.panels[0]!), isEmpty(timeline.bands[0]!.panels[0]!)]).toEqual([false, true]);
});

test("evidence from a validity check refers to the columns of the check", () => {
  expect(speaksOf("validity/worker-busy", "generator/busy/3")).toBe(true);
  expect(speaksOf("validity/worker-busy", "generator/run_queue")).toBe(false);
  expect(speaksOf("validity/unheard-of", "rate/asked")).toBe(false);
});

test("thinning keeps peaks", () => {
  const values = Array.from({ length: 1000 }, (_, i) => (i === 777 ? 50 : 1));
  expect(Math.max(...(thin(values, 60) as number[]))).toBe(50);
  expect(thin(values, 60).length).toBeLessThanOrEqual(60);
});

test("lowest and highest values belong to their line, and only if the line exists", () => {
  const column = (id: string) => ({ id, label: id, values: [] });
  const panel = { id: "p", title: "", unit: "1", stacked: false, columns: ["rate", "rate/min", "rate/max", "response/max"].map(column) };
  expect(ranges(panel)).toEqual([{ of: 0, min: 1, max: 2 }]);
  expect(listed(panel).map(({ id }) => id)).toEqual(["rate", "response/max"]);
});

test("a band shows changed signals, those of findings first, and lists constant ones", () => {
  const panel = (id: string, values: (number | null)[]) => ({ id, title: id, unit: "1", stacked: false, columns: [{ id, label: id, values }] });
  const panels = [panel("limit", [8, null, 8]), ...Array.from({ length: 12 }, (_, i) => panel(`p${i}`, [i, i + 1])), panel("empty", [null, null])];
  const sorted = sortBand(panels, ({ id }) => id === "p11");
  expect(sorted.shown.map(({ id }) => id)).toEqual(["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p11"]);
  expect(sorted.more.map(({ id }) => id)).toEqual(["p7", "p8", "p9", "p10", "empty"]);
  expect(sorted.steady).toEqual([{ panel: panels[0], value: 8 }]);
  expect(metricOf(panel("signal/pg/commits", []), "pg")).toBe("commits");
});

test("bands that findings rest on are first, then processes; the machine is last", () => {
  const band = (observer: string) => ({
    observer,
    panels: [{ id: `signal/${observer}/x`, title: "x", unit: "1", stacked: false, columns: [{ id: `signal/${observer}/x`, label: "x", values: [] }] }],
  });
  const bands = ["host", "postgres", "process:8080", "redis"].map(band);
  expect(bandsInOrder(bands, []).map((one) => one.observer)).toEqual(["process:8080", "postgres", "redis", "host"]);
  expect(bandsInOrder(bands, ["redis/x"]).map((one) => one.observer)).toEqual(["redis", "process:8080", "postgres", "host"]);
});

test("a failure named by its outcome refers to every request with that outcome", () => {
  expect(speaksOf("failures/status", "failures/status/Search")).toBe(true);
  expect(speaksOf("failures/status", "failures/timeout/Search")).toBe(false);
});
