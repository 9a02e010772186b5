import { describe, expect, it } from "vitest";
import type { ComparedRow } from "../generated/comparison";
import { barOf, changeOf, intervalOf, metricName, placeOf, rowsWidth, shiftMarks, valueOf, verdictOf, widthNames, widthOf } from "./comparison";

const row = (change: Partial<ComparedRow>): ComparedRow => ({
  metric: "p95", baseline: 0.02, candidate: 0.0224, change: 1.12, low: 1.083, high: 1.16, p: 0.001, verdict: "worse", ...change,
});

describe("a comparison", () => {
  it("draws ratios so that a ratio and its reciprocal are as far from the middle", () => {
    expect([1, 1.5, 9, 0.1].map((ratio) => placeOf(ratio, 1.5))).toEqual([0.5, 1, 1, 0]);
    expect(placeOf(1.2, 2) + placeOf(1 / 1.2, 2)).toBeCloseTo(1, 9);
    const bar = barOf(row({}), 1.5)!;
    expect(bar.from).toBeGreaterThan(0.5);
    expect(bar.from < bar.at && bar.at < bar.to).toBe(true);
    expect(barOf(row({ high: null }), 1.5)!.to).toBe(1);
    expect(barOf(row({ metric: "failures" }), 1.5)).toBeNull();
  });

  it("is as wide as the changes, without the intervals of undetermined rows", () => {
    expect([1, 1.4, 1 / 1.9, 3, 0.11, 80, 5000].map((ratio) => widthOf([1, ratio]))).toEqual([1.5, 1.5, 2, 4, 10, 100, 10_000]);
    expect(rowsWidth([row({}), row({ change: 2.4, low: 2.1, high: 2.8 })])).toBe(4);
    expect(rowsWidth([row({ verdict: "cannot_tell", change: 1.1, low: 0.1, high: 9 }), row({ metric: "failures", change: 0.9 })])).toBe(1.5);
    expect(widthNames(2)).toEqual(["× ½", "× 2"]);
  });

  it("formats a change that rounds to 0 without a sign", () => {
    const tiny = row({ change: 1.000_01, low: 0.999_9, high: 1.000_2 });
    expect([changeOf(tiny), intervalOf(tiny)]).toEqual(["under 0.01 %", "within ±0.1 %"]);
  });

  it("formats changes like the terminal", () => {
    expect([row({}), row({ change: 0.85 }), row({ metric: "failures", change: 0.004 })].map(changeOf)).toEqual(["+12.0 %", "−15.0 %", "+0.4 points"]);
    const ends = [row({}), row({ high: null }), row({ metric: "failures", low: -0.0004, high: 0.012 })];
    expect(ends.map(intervalOf)).toEqual(["+8.3 to +16.0 %", "above +8.3 %", "0.0 to +1.2 points"]);
    expect(verdictOf(row({ verdict: "same" }), 0.03)).toBe("same (±3 %)");
    expect(verdictOf(row({ verdict: "cannot_tell", minutes_needed: 11.2 }), 0.03)).toBe("cannot tell (needs 12 min)");
  });

  it("has the terminal's word for failures that neither run had", () => {
    const failures = row({ metric: "failures", verdict: "same", baseline: 0, candidate: 0, change: 0 });
    expect([verdictOf(failures, 0.03), verdictOf({ ...failures, candidate: 0.0004 }, 0.03)]).toEqual(["same: none", "same (±0.1 points)"]);
  });

  it("marks a lower bound", () => {
    const hangs = row({ baseline: 0.2, candidate: 12, change: 60, low: 41, high: null, at_least: ["candidate"] });
    expect([valueOf(hangs, "baseline"), valueOf(hangs, "candidate"), changeOf(hangs)]).toEqual(["200 ms", "≥ 12.0 s", "≥ × 60"]);
    expect(changeOf({ ...hangs, change: 0.1, at_least: ["baseline"] })).toBe("≤ × 0.10");
    expect(changeOf({ ...hangs, change: 0.1, low: 0.05, at_least: ["baseline"] })).toBe("≤ −90.0 %");
  });

  it("writes large changes and their intervals as factors", () => {
    const grown = row({ change: 750.24, low: 612, high: 894 });
    expect([changeOf(grown), intervalOf(grown)]).toEqual(["× 750", "× 612 to × 894"]);
    const wide = row({ change: 1.5, low: 0.4, high: 21.3 });
    expect([changeOf(wide), intervalOf(wide)], "one way in a row").toEqual(["× 1.50", "× 0.40 to × 21"]);
  });

  it("shows custom metrics in their units", () => {
    const own = (metric: ComparedRow["metric"]) => row({ metric, unit: "EUR", verdict: "moved" });
    const shown = [
      valueOf({ ...own("value_p95"), baseline: 14 }, "baseline"),
      valueOf({ ...own("added_rate"), candidate: 99.5 }, "candidate"),
      valueOf({ ...own("share"), candidate: 0.2 }, "candidate"),
    ];
    expect(shown).toEqual(["14 EUR", "99.5 EUR/s", "20.0 %"]);
    expect([metricName(own("value_p95")), metricName(own("added_rate"))]).toEqual(["p95", "per second"]);
    expect(changeOf({ ...own("share"), change: 0.1 })).toBe("+10.0 points");
    expect(barOf(own("share"), 1.5)).toBeNull();
  });

  it("places quantiles next to each other, longer times above", () => {
    const marks = shiftMarks([
      { quantile: 0.5, baseline: 1, candidate: 1, low: 0.9, high: 1.1 },
      { quantile: 0.99, baseline: 1, candidate: 1.5, low: null, high: 1.8 },
    ], 2);
    expect(marks[0]!.y).toBe(0.5);
    expect(marks[1]!.y).toBeLessThan(0.5);
    expect(marks[1]!.low).toBe(1);
    expect(marks[1]!.x).toBeGreaterThan(marks[0]!.x);
  });
});
