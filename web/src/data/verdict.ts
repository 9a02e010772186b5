// The three questions of a report and their answers, in a few words each, for the strip at the top. Read `answers` first.

import { counted } from "../format/number";
import { sentence } from "../format/prose";
import { grade as gradeWord } from "../format/words";
import type { Tone } from "../generated/answers";
import type { ReportView } from "../generated/report";
import type { Grade, ThresholdResult, ValidityCheck } from "../generated/verdict";

export interface VerdictAnswer {
  id: "validity" | "thresholds" | "findings";
  question: string;
  word: string;
  tone: Tone;
  summary: string;
}

export function answers(view: ReportView): VerdictAnswer[] {
  return [validity(view), thresholds(view), findings(view)];
}

function isRunning(view: ReportView): boolean {
  return view.test.state === "running";
}

function validity(view: ReportView): VerdictAnswer {
  const { grade, checks } = view.summary.verdict.validity;
  const judged = checks.filter((check) => check.grade !== null);
  const bad = judged.filter((check) => check.grade !== "valid");
  const { word, tone } = gradeWord(grade);
  const base = { id: "validity", question: isRunning(view) ? "Is the measurement valid?" : "Was the measurement valid?", word } as const;
  if (judged.length === 0) return { ...base, tone: "none", summary: "Nothing to judge yet" };
  if (bad.length > 0) return { ...base, tone, summary: bad.map((check) => check.title).join(" · ") };
  const uncertainties = view.uncertainty_in_short === undefined ? "" : ` · ${view.uncertainty_in_short}`;
  const summary = `All ${counted(judged.length, "check")} passed${uncertainties}`;
  const unusable = view.unusable_percentiles ?? [];
  return unusable.length === 0 ? { ...base, tone, summary } : { ...base, word: `${word} except ${unusable.join(", ")}`, tone: "warn", summary };
}

function thresholds(view: ReportView): VerdictAnswer {
  const results = view.summary.verdict.thresholds;
  const failed = results.filter((result) => result.state === "failed" || result.state === "no_data");
  const undecided = results.filter((result) => result.state === "undecided");
  const pending = results.filter((result) => result.state === "pending");
  const failing = pending.filter((result) => result.failing);
  const base = { id: "thresholds", question: isRunning(view) ? "Does it meet its objectives?" : "Did it meet its objectives?" } as const;
  if (results.length === 0) return { ...base, word: "None set", tone: "none", summary: "The test declares no thresholds" };
  const all = counted(results.length, "threshold");
  const isOnly = results.length === 1;
  const some = (of: ThresholdResult[]) => [`${of.length} of ${all}: ${of[0]!.threshold.label}`, of[0]!.reading].filter(Boolean).join(" · ");
  if (failed.length > 0) return { ...base, word: "Failed", tone: "bad", summary: some(failed) };
  if (undecided.length > 0) return { ...base, word: "Undecided", tone: "warn", summary: some(undecided) };
  if (failing.length > 0) return { ...base, word: "Failing so far", tone: "warn", summary: some(failing) };
  if (pending.length > 0) {
    const summary = isOnly ? "The only threshold has not failed so far" : `None of the ${all} has failed so far`;
    return { ...base, word: "Not yet decided", tone: "none", summary };
  }
  return { ...base, word: "Passed", tone: "good", summary: isOnly ? "The only threshold is met" : `All ${all} met` };
}

function findings(view: ReportView): VerdictAnswer {
  const { findings: found, remark } = view.summary.verdict.findings;
  const base = { id: "findings", question: "What limits it?" } as const;
  const soFar = isRunning(view) ? " so far" : "";
  if (found.length > 0) return { ...base, word: counted(found.length, "finding") + soFar, tone: "warn", summary: found[0]!.claim };
  const word = remark.kind === "cannot_tell" ? "Cannot tell" : isRunning(view) ? "Not yet known" : "Nothing found";
  return { ...base, word, tone: "none", summary: sentence(remark.summary) || "No findings" };
}

const ORDER: Record<Grade, number> = { invalid: 0, suspect: 1, valid: 2 };

/** Worst first; checks without a grade are last. */
export function worstFirst(checks: readonly ValidityCheck[]): ValidityCheck[] {
  const rank = (check: ValidityCheck) => (check.grade === null ? 3 : ORDER[check.grade]);
  return checks.toSorted((a, b) => rank(a) - rank(b));
}

/** What to open first when the report is loaded: why the numbers are unusable, or nothing, so that the first screen has the chart. */
export function openAtFirst(view: ReportView): VerdictAnswer["id"] | null {
  const { validity } = view.summary.verdict;
  return !isRunning(view) && validity.grade === "invalid" ? "validity" : null;
}
