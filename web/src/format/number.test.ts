import { expect, test } from "vitest";
import { bytes, count, counted, number, quantile, rate, seconds, share } from "./number";

// The examples of crates/report/src/number.rs.
test("times take the fitting unit and three digits", () => {
  const examples: [number, string][] = [
    [0, "0 s"], [12e-9, "12.0 ns"], [850e-6, "850 µs"], [0.0382, "38.2 ms"], [0.99949, "999 ms"], [0.9996, "1.00 s"], [1.2, "1.20 s"],
    [59.94, "59.9 s"], [60, "1 min"], [125, "2 min 5 s"], [3720, "1 h 2 min"], [90_000, "1 d 1 h"], [NaN, "—"], [-0.002, "−2.00 ms"],
  ];
  for (const [value, text] of examples) expect(seconds(value), String(value)).toBe(text);
});

test("counts, rates, shares and bytes", () => {
  expect([count(0), count(1204), count(9_999_999), count(12_345_678)]).toEqual(["0", "1,204", "9,999,999", "12.3 M"]);
  expect([rate(0.25), rate(4), rate(38.25), rate(1204.4), rate(2e7)]).toEqual(["0.25/s", "4/s", "38.2/s", "1,204/s", "20.0 M/s"]);
  expect([share(0), share(0.00001), share(0.0125), share(1), share(0.999_999)]).toEqual(["0 %", "<0.01 %", "1.25 %", "100 %", ">99.99 %"]);
  expect([bytes(512), bytes(1200), bytes(3_400_000)]).toEqual(["512 B", "1.20 kB", "3.40 MB"]);
  expect([counted(1, "request"), counted(1204, "request")]).toEqual(["1 request", "1,204 requests"]);
  expect(number(null)).toBe("—");
});

test("quantiles are named as people say them", () => {
  expect([0.5, 0.95, 0.999, 0.9999].map(quantile)).toEqual(["p50", "p95", "p99.9", "p99.99"]);
});

test("a share that is not all or nothing never reads so", () => {
  for (let failed = 1; failed < 1e6; failed = failed * 3 + 1) {
    for (let more = 1; more < 1e6; more = more * 3 + 1) {
      const text = share(failed / (failed + more));
      expect(text === "0 %" || text === "100 %", `${failed} of ${failed + more}: ${text}`).toBe(false);
    }
  }
});
