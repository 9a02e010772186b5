import { expect, test } from "vitest";
import type { ReportView } from "../generated/report";
import type { ChangeRow } from "../generated/summary";
import { changeInWords, changeIsKnown, changesOf } from "./changes";

const base = { at_seconds: 20, at_error_seconds: 1, until_seconds: null, samples_before: 2000, samples_after: 4000 };
const list: ChangeRow = { ...base, of: "request", name: "List", metric: "service.p50", before: 0.012, after: 0.412 };
const times = { at_seconds: 10, at_error_seconds: 0, until_seconds: 70 };
const failed: ChangeRow = { ...base, ...times, of: "request", name: "List", metric: "failures.share", before: 0, after: 0.125 };
const scenario: ChangeRow = { ...base, of: "scenario", name: "List", metric: "service.mean", before: 0.5, after: 0.2 };
const cpu: ChangeRow = { ...base, of: "signal", name: "process:8080/cpu", metric: "value.p50", before: 0.2, after: 0.98 };
const rss: ChangeRow = { ...cpu, name: "process:8080/rss", before: 1e6, after: 2e6 };
const memory = { unit: "bytes", columns: [{ id: "signal/process:8080/rss", label: "", values: [] }] };
const view = {
  summary: { changes: [list, failed, scenario, cpu], signals: [{ name: "process:8080/cpu", unit: "share" }] },
  timeline: { panels: [], bands: [{ observer: "process:8080", panels: [memory] }] },
} as unknown as ReportView;

test("a change shows the values before and after, in the unit of its metric", () => {
  expect([list, failed, scenario, cpu, rss].map((change) => changeInWords(view, change))).toEqual([
    "List: p50 12.0 ms → 412 ms", "List: failed 0 % → 12.5 % until 1:10", "List: mean 500 ms → 200 ms", "process:8080/cpu: 20.0 % → 98.0 %",
    "process:8080/rss: 1.00 MB → 2.00 MB",
  ]);
  expect(changeIsKnown(list)).toBe("Known to ± 1.00 s, from 2,000 samples before and 4,000 after");
  expect(changeIsKnown(failed)).toBe("Known from 2,000 samples before and 4,000 after");
});

test("a selected request has only its own changes, in order of time", () => {
  expect(changesOf(view, "List")).toEqual([failed, list]);
  expect(changesOf(view, "Buy")).toEqual([]);
  expect(changesOf(view, null)).toEqual([failed, list, scenario, cpu]);
});
