// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

import type { Grade, RuleId, Subject } from "./verdict.ts";

/** The quantity of a row, which also determines the unit; a signal has its own unit. */
export type ComparedMetric =
  | "rate"
  | "failures"
  | "mean"
  | "p50"
  | "p90"
  | "p95"
  | "p99"
  | "p999"
  | "cpu_per_request"
  | "memory"
  | "value"
  | "value_p50"
  | "value_p95"
  | "value_p99"
  | "added_rate"
  | "share";

/** One number, measured in both runs. */
export interface ComparedRow {
  metric: ComparedMetric;
  /** The unit of a signal or a custom metric. */
  unit?: string;
  baseline: number | null;
  candidate: number | null;
  /** The sides whose number is only a lower bound, because the percentile lies among requests that had not ended. */
  at_least?: Array<Side>;
  /**
   * Candidate divided by baseline; for failures and shares, candidate minus baseline. With a lower bound on one side, the minimum
   * change.
   */
  change: number | null;
  /** The 95 % interval of the change. An end that the samples do not determine is absent. */
  low: number | null;
  high: number | null;
  /** Probability of a difference this large between runs of a system that did not change. */
  p: number | null;
  verdict: RowVerdict;
  /** If undecided: the required length of each run, assuming that change and variance remain the same. */
  minutes_needed?: number;
  /** If undecided: the reason. */
  why?: string;
}

/** One of the two runs. */
export interface ComparedRun {
  id: string;
  test: string;
  started: string;
  tags: Array<string>;
  duration_seconds: number;
  requests: number;
  grade: Grade;
}

/** Something that one or both runs measured. */
export interface ComparedSubject {
  kind: SubjectKind;
  name: string;
  scenario?: string;
  group?: string;
  /** Measured in only one run, so there is nothing to compare. */
  only_in?: Side;
  rows: Array<ComparedRow>;
  /** The change of each quantile; empty where there are too few samples. */
  shift?: Array<ShiftPoint>;
}

/** A condition that makes the candidate fail. */
export interface ComparisonGate {
  /** The condition as the user wrote it. */
  label: string;
  /** `null`: any metric. */
  metric: ComparedMetric | null;
  /** The request, group, scenario, flow or process. `null`: all requests together, and each process of the target. */
  name: string | null;
  /** Relative; for failures, a difference of shares. */
  by: number;
}

/** The verdict over all rows except the system's signals. */
export type ComparisonVerdict = "better" | "worse" | "mixed" | "same" | "cannot_tell" | "not_comparable";

/** A finding of either run and its counterpart in the other run. */
export interface FindingMove {
  state: FindingState;
  rule: RuleId;
  subject: Subject;
  /** The claims. */
  baseline: string | null;
  candidate: string | null;
}

export type FindingState = "new" | "gone" | "moved" | "same";

export interface GateResult {
  gate: ComparisonGate;
  state: GateState;
  /** One sentence. */
  detail: string;
}

export type GateState = "held" | "failed" | "undecided";

export type RowVerdict = "better" | "worse" | "same" | "moved" | "cannot_tell";

/** Two runs of a test as one model: the differences between their conditions, the results, and whether the candidate is better. */
export interface RunComparison {
  /** Version of this schema: 1. */
  schema: number;
  baseline: ComparedRun;
  candidate: ComparedRun;
  /** Smallest relative change that matters: 0.03 for 3 %. */
  effect: number;
  /** Expected share of false positives among the rows that are reported as different. */
  false_share: number;
  verdict: ComparisonVerdict;
  /** The reason for the verdict, with its most important numbers. The verdict itself is not part of it. */
  headline: string;
  /** Conditions that should be the same and are not, those that forbid a comparison first. */
  differences: Array<RunDifference>;
  subjects: Array<ComparedSubject>;
  findings: Array<FindingMove>;
  /** Thresholds that one run passed and the other failed. */
  thresholds?: Array<ThresholdMove>;
  /** The gates: allowed changes for the worse, and whether they were exceeded. */
  gates?: Array<GateResult>;
}

/** A condition that should be the same in both runs. */
export interface RunDifference {
  /** `load`, `script`, `parameter`, `machine`, `validity`, … */
  what: string;
  baseline: string;
  candidate: string;
  /** With this difference, no change can be attributed to the system. */
  forbids: boolean;
  /** The consequence for the comparison. */
  meaning: string;
}

/**
 * A point of the shift function (Doksum, "Empirical probability plots and statistical inference for nonlinear models in the two-sample
 * case", 1974): the change of one quantile. Times in seconds.
 */
export interface ShiftPoint {
  quantile: number;
  baseline: number;
  candidate: number;
  /** Ends of the ratio's 95 % interval. */
  low: number | null;
  high: number | null;
}

export type Side = "baseline" | "candidate";

export type SubjectKind = "all" | "request" | "group" | "scenario" | "flow" | "target" | "metric" | "signal";

/** A threshold that one run passed and the other failed. Both results are decided: see the thresholds of either run. */
export interface ThresholdMove {
  label: string;
  /** The run that failed. */
  failed: Side;
  /** The candidate's result in one sentence. */
  detail: string;
}
