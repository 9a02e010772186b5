import { describe, expect, it } from "vitest";
import { barOf, type ComparedRow, metricName, placeOf, shiftMarks, signed, valueOf, verdictOf } from "./comparison";

const row = (change: Partial<ComparedRow>): ComparedRow => ({
  metric: "p95", baseline: 0.02, candidate: 0.0224, change: 1.12, low: 1.083, high: 1.16, verdict: "worse", ...change,
});

describe("a comparison", () => {
  it("draws ratios so that a ratio and its reciprocal are as far from the middle", () => {
    expect([placeOf(1), placeOf(1.5), placeOf(9), placeOf(0.1)]).toEqual([0.5, 1, 1, 0]);
    expect(placeOf(1.2) + placeOf(1 / 1.2)).toBeCloseTo(1, 9);
    const bar = barOf(row({}))!;
    expect(bar.from).toBeGreaterThan(0.5);
    expect(bar.from < bar.at && bar.at < bar.to).toBe(true);
    expect(barOf(row({ high: null }))!.to).toBe(1);
    expect(barOf(row({ metric: "failures" }))).toBeNull();
  });

  it("says changes as the terminal does", () => {
    expect([signed(row({}), 1.12), signed(row({}), 0.85), signed(row({ metric: "failures" }), 0.004)]).toEqual(["+12.0 %", "−15.0 %", "+0.4 points"]);
    expect(verdictOf(row({ verdict: "same" }), 0.03)).toBe("same (±3 %)");
    expect(verdictOf(row({ verdict: "cannot_tell", minutes_needed: 11.2 }), 0.03)).toBe("cannot tell (needs 12 min)");
  });

  it("shows metrics of the test's own in their units", () => {
    const own = (metric: ComparedRow["metric"]) => row({ metric, unit: "EUR", verdict: "moved" });
    expect([valueOf(own("value_p95"), 14), valueOf(own("added_rate"), 99.5), valueOf(own("share"), 0.2)]).toEqual(["14 EUR", "99.5 EUR/s", "20.0 %"]);
    expect([metricName(own("value_p95")), metricName(own("added_rate")), signed(own("share"), 0.1)]).toEqual(["p95", "per second", "+10.0 points"]);
    expect(barOf(own("share"))).toBeNull();
  });

  it("places quantiles side by side, longer times above", () => {
    const marks = shiftMarks([
      { quantile: 0.5, baseline: 1, candidate: 1, low: 0.9, high: 1.1 },
      { quantile: 0.99, baseline: 1, candidate: 1.5, low: null, high: 1.8 },
    ]);
    expect(marks[0]!.y).toBe(0.5);
    expect(marks[1]!.y).toBeLessThan(0.5);
    expect(marks[1]!.low).toBe(1);
    expect(marks[1]!.x).toBeGreaterThan(marks[0]!.x);
  });
});
