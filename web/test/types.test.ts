// Checks the generated types with views: those of the fixtures, and the report of an hour, written by the binary.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fixture, HOUR } from "./browser.ts";
import { mistakes } from "./types.ts";

const view = (value: unknown) => ({ value, type: "ReportView", module: "generated/report" } as const);
const findings = () => JSON.parse(fixture("findings"));

test("the fixtures have the types that the crates declare", () => {
  expect(mistakes(["healthy", "failing", "hour", "findings"].map((name) => view(JSON.parse(fixture(name)))))).toEqual([]);
});

test("a report written by the binary has the types, too", () => {
  const json = /<script id="loadstone-view" type="application\/json">(.*?)<\/script>/s.exec(readFileSync(HOUR, "utf8"))![1]!;
  const real = JSON.parse(json);
  expect(real.summary.flows.length, "a real run").toBe(2);
  expect(mistakes([view(real)])).toEqual([]);
});

test("a missing field, an unknown one and a wrong value are detected", () => {
  const { version: _, ...without } = findings();
  expect(mistakes([view(without)])).toEqual([expect.stringContaining("'version' is missing")]);
  const unknown = findings();
  unknown.summary.requests[0].surprise = 1;
  expect(mistakes([view(unknown)])).toEqual([expect.stringMatching(/"surprise".*RequestRow/)]);
  const wrong = findings();
  wrong.summary.verdict.validity.grade = "superb";
  expect(mistakes([view(wrong)])).toEqual([expect.stringContaining('"superb"')]);
});
