import { expect, it } from "vitest";
import type { ReportView } from "../generated/report";
import { answers } from "./verdict";

const view = (doubts: string | undefined, grade: string): ReportView => ({
  test: { state: "completed" },
  doubts_in_short: doubts,
  summary: {
    verdict: {
      validity: { grade, checks: [{ title: "Stalls", grade }] },
      thresholds: [],
      findings: { findings: [], remark: { kind: "nothing", text: "", summary: "" } },
    },
  },
} as unknown as ReportView);

it("the headline of a valid run names the uncertain numbers", () => {
  expect(answers(view(undefined, "valid"))[0]!.summary).toBe("All 1 check passed");
  expect(answers(view('uncertain: p99 of "Buy"', "valid"))[0]!.summary).toBe('All 1 check passed · uncertain: p99 of "Buy"');
  expect(answers(view('uncertain: p99 of "Buy"', "suspect"))[0]!.summary).toBe("Stalls");
});
