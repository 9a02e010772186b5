import { expect, test } from "vitest";
import cases from "../../../crates/units/cases.json";

import { bytes, change, count, counted, digitsOf, factor, number, quantile, rate, seconds, secondsTo, share, shareTo } from "./number";
import { inUnit } from "./unit";

type Case = [number | null, string];

// `memory` is written by the terminal only.
const writers: [string, (value: number | null) => string, Case[]][] = [
  ["seconds", seconds, cases.write.seconds as Case[]],
  ["count", (value) => count(value as number), cases.write.count as Case[]],
  ["rate", rate, cases.write.rate as Case[]],
  ["number", number, cases.write.number as Case[]],
  ["share", share, cases.write.share as Case[]],
  ["change", change, cases.write.change as Case[]],
  ["factor", factor, cases.write.factor as Case[]],
  ["bytes", bytes, cases.write.bytes as Case[]],
  ["percentile", (value) => quantile(value as number), cases.write.percentile as Case[]],
];

test.each(writers)("%s are formatted as in the table", (_, write, table) => {
  expect(table.length).toBeGreaterThan(2);
  for (const [value, text] of table) expect(write(value), String(value)).toBe(text);
});

test("values are formatted in their unit as in the table", () => {
  for (const [value, unit, text] of cases.write.in_unit as [number, string, string][]) expect(inUnit(value, unit), `${value} ${unit}`).toBe(text);
});

test("numbers have as many digits as their samples justify", () => {
  for (const [value, digits, text] of cases.write.seconds_to as [number, number, string][]) expect(secondsTo(value, digits), text).toBe(text);
  for (const [value, digits, text] of cases.write.share_to as [number, number, string][]) expect(shareTo(value, digits), text).toBe(text);
  expect([12, 100, 9_999, 10_000].map(digitsOf)).toEqual([1, 2, 2, 3]);
});

test("a noun follows its number", () => {
  expect([counted(1, "request"), counted(1204, "request")]).toEqual(["1 request", "1,204 requests"]);
});

test("a missing number has a common placeholder", () => {
  expect([seconds(NaN), number(NaN), share(NaN), bytes(NaN)]).toEqual(["—", "—", "—", "—"]);
});

test("a share between 0 and 1 is never shown as either", () => {
  for (let failed = 1; failed < 1e6; failed = failed * 3 + 1) {
    for (let more = 1; more < 1e6; more = more * 3 + 1) {
      const text = share(failed / (failed + more));
      expect(text === "0 %" || text === "100 %", `${failed} of ${failed + more}: ${text}`).toBe(false);
    }
  }
});
