import { expect, it } from "vitest";
import type { ReportView } from "../generated/report";
import { answers } from "./verdict";

const remark = { kind: "nothing", text: "", summary: "" };

const view = (uncertainties: string | undefined, grade: string): ReportView => ({
  test: { state: "completed" },
  uncertainty_in_short: uncertainties,
  summary: { verdict: { validity: { grade, checks: [{ title: "Stalls", grade }] }, thresholds: [], findings: { findings: [], remark } } },
} as unknown as ReportView);

it("the headline of a valid run names the uncertain numbers", () => {
  expect(answers(view(undefined, "valid"))[0]!.summary).toBe("All 1 check passed");
  expect(answers(view('uncertain: p99 of "Buy"', "valid"))[0]!.summary).toBe('All 1 check passed · uncertain: p99 of "Buy"');
  expect(answers(view('uncertain: p99 of "Buy"', "suspect"))[0]!.summary).toBe("Stalls");
});
