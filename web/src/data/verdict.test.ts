import { expect, it } from "vitest";
import type { ReportView } from "../generated/report";
import { answers } from "./verdict";

const remark = { kind: "nothing", text: "", summary: "" };

const view = (uncertainties: string | undefined, grade: string, unusable: string[] = []): ReportView => ({
  test: { state: "completed" },
  uncertainty_in_short: uncertainties,
  unusable_percentiles: unusable,
  summary: { verdict: { validity: { grade, checks: [{ title: "Stalls", grade }] }, thresholds: [], findings: { findings: [], remark } } },
} as unknown as ReportView);

it("the verdict of a valid run excepts percentiles that are mostly noise", () => {
  expect(answers(view("noise", "valid", ["p50", "p95"]))[0]).toMatchObject({ word: "Valid except p50, p95", tone: "warn" });
  expect(answers(view("noise", "valid"))[0]).toMatchObject({ word: "Valid", tone: "good" });
  expect(answers(view("noise", "suspect", ["p50"]))[0]).toMatchObject({ word: "Suspect" });
});

it("the headline of a valid run names the uncertain numbers", () => {
  expect(answers(view(undefined, "valid"))[0]!.summary).toBe("All 1 check passed");
  expect(answers(view('uncertain: p99 of "Buy"', "valid"))[0]!.summary).toBe('All 1 check passed · uncertain: p99 of "Buy"');
  expect(answers(view('uncertain: p99 of "Buy"', "suspect"))[0]!.summary).toBe("Stalls");
});
