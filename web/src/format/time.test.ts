import { expect, test } from "vitest";
import type { TimeStats } from "../generated/summary";
import { behind, behindLongest, longest, marked, percentile } from "./time";

const times: TimeStats = {
  count: 1000, mean: 0.02, min: 0.01, max: 10, max_is_bound: true, max_uncertainty: 0.04,
  percentiles: [
    { quantile: 0.5, value: 0.02, low: 0.019, high: 0.021, samples_beyond: 500 },
    { quantile: 0.95, value: 0.041, low: 0.04, high: 0.042, samples_beyond: 50, uncertainty: 0.009 },
    { quantile: 0.99, value: null, low: 3.2, high: null, samples_beyond: 10 },
    { quantile: 0.999, value: null, low: null, high: null, samples_beyond: 1 },
  ],
};

test("a time is marked if the load generator may have added to it", () => {
  expect([0.5, 0.95, 0.99, 0.999, 0.75].map((q) => percentile(times, q))).toEqual(["20.0 ms", "~41.0 ms", "≥ 3.20 s", "—", "—"]);
  expect([marked(0.02, undefined), marked(0.02, 0.001), marked(null, 0.001)]).toEqual(["20.0 ms", "~20.0 ms", "—"]);
});

test("a longest wait that was cut off is a bound", () => {
  const whole = { ...times, max_is_bound: false, max_uncertainty: undefined };
  expect([times, whole, { ...times, max: null }].map(longest)).toEqual(["≥ ~10.0 s", "10.0 s", "—"]);
});

test("the basis of a number is its interval, its samples and its uncertainty", () => {
  expect(behind(times, 0.95)).toBe("95 % interval 40.0 ms – 42.0 ms; 50 samples beyond; up to 9.00 ms of it may not be the target's");
  expect(behind(times, 0.999)).toBe("Too few samples for p99.9: 1,000 in total");
  expect(behindLongest(times)).toContain("the true maximum is this or more; up to 40.0 ms of it may not be");
  expect(behindLongest({ ...times, max_is_bound: false, max_uncertainty: undefined })).toBeUndefined();
});
