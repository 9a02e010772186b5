// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

export type Aggregate = "count" | "rate" | "mean" | "min" | "max" | { "quantile": number } | "last";

/** Another cause that was considered. */
export interface Alternative {
  /** A noun phrase without its full stop. */
  cause: string;
  ruled_out: boolean;
  /** What rules it out, or why it cannot be ruled out, without its full stop. */
  because: string;
  /** The sentence that every surface shows. */
  text: string;
}

/** A comparison with a value in the metric's base unit: seconds, a count, a rate per second or a share. */
export interface Bound {
  comparison: Comparison;
  value: number;
}

export type Comparison = "below" | "at_most" | "above" | "at_least" | "equals";

export type Confidence = "low" | "medium" | "high";

/** Series and interval that a finding rests on. */
export interface Evidence {
  text: string;
  /** Names of timeline series or signals to highlight. */
  series: Array<string>;
  /** Seconds since the run began. */
  from_seconds: number;
  to_seconds: number;
  /** Names of the requests whose own series these are, taken together. Empty: the series of the whole run. */
  requests?: Array<string>;
  /** The numbers of the sentence, as lines to draw with the series. */
  lines?: Array<EvidenceLine>;
}

/** A number of a sentence where a chart shows it: a plateau, a limit, a level before and after a change, a trend. */
export interface EvidenceLine {
  /** The series that it is drawn with, in whose unit its values are. `distribution` marks response times in a distribution. */
  series: string;
  /** What it shows, in a few words: `stopped at`. */
  label: string;
  /** Seconds since the run began, and values. Two points of the same value are a level. */
  points: Array<[number, number]>;
}

/** Why the system behaves as it does, as far as the evidence shows. */
export interface Finding {
  rule: RuleId;
  subject: Subject;
  /** The numbers in the claim, by name. */
  quantities?: Array<Quantity>;
  /** The sentence rendered from the rule, the subject and the quantities. No code reads it back. */
  claim: string;
  confidence: Confidence;
  evidence: Array<Evidence>;
  /** What would limit the system next, as far as was observed. The same sentence is part of the evidence. */
  next_limit?: string;
  alternatives: Array<Alternative>;
  /** What to do next, in one or a few sentences. */
  next: string;
  /** The page of the rule in docs/findings, without `.md`. Two rules may report findings of one id. Empty: concluded by an older version. */
  page?: string;
}

export interface Findings {
  /** Most important first. */
  findings: Array<Finding>;
  remark: Remark;
}

/** How far a measurement can be trusted; ordered from best to worst. */
export type Grade = "valid" | "suspect" | "invalid";

/** The measured quantity. docs/metrics.md defines each. */
export type Metric =
  | "response_time"
  | "service_time"
  | "schedule_lag"
  | "requests"
  | "failures"
  | "iterations"
  | "failed_iterations"
  | "script_errors"
  | "checks"
  | "passed_checks"
  | "failed_checks"
  | "group_time"
  | { "flow_time": { stage: string | null } }
  | "flow_backlog"
  | "flow_lost"
  | { "signal": { name: string } }
  | "iteration_time"
  | { "own": { name: string, kind: MetricKind, unit: string } };

/** How the values of a metric are combined. */
export type MetricKind = "trend" | "counter" | "gauge" | "rate";

/** What is missing to name a limit. */
export type MissingKnowledge =
  | "too_few_requests"
  | "failures_first"
  | "incomplete_run"
  | "invalid_measurement"
  | "unexplained_waiting"
  | "higher_load"
  | "varied_load";

/** A number that a finding rests on. */
export interface Quantity {
  /** What it counts or measures, in snake case: `throughput`, `places`, `waiting`. */
  name: string;
  value: number;
  unit: QuantityUnit;
  /** Its 95 % interval, where one is known. */
  interval?: [number, number];
}

/** The unit of a `Quantity`. */
export type QuantityUnit = "seconds" | "per_second" | "share" | "count" | "bytes" | "bytes_per_second" | "cores" | "ratio";

/** What the findings as a whole mean, as data and as text. */
export interface Remark {
  kind: RemarkKind;
  /** What is missing to name a limit, where the limit is unknown. */
  missing?: MissingKnowledge;
  /** All of it. Empty where there is nothing to add. */
  text: string;
  /** The same, one by one, the conclusion first. */
  statements: Array<string>;
  /** The conclusion alone, for a headline; where the limit is unknown, the reason. */
  summary: string;
}

/** What the findings as a whole mean. */
export type RemarkKind = "nothing" | "nothing_so_far" | "no_limit" | "steady" | "cannot_tell" | "also";

/** The stable identifier of a rule, such as `connection-pool`. */
export type RuleId = string;

/** Selects series. Empty fields match everything. */
export interface Selector {
  /** Name of a request, group or flow, as shown in the summary. */
  name: string | null;
  scenario: string | null;
  /** Requests inside this group. */
  group: string | null;
  /** Series that carry all of these tags. */
  tags?: { [key in string]: string };
}

/** What a finding is about. */
export type Subject =
  | { "kind": "whole" }
  | { "kind": "requests", names: Array<string> }
  | { "kind": "group", name: string }
  | { "kind": "scenario", name: string }
  | { "kind": "flow", name: string }
  | { "kind": "endpoint", name: string }
  | { "kind": "service", name: string }
  | { "kind": "observed", observer: string, part?: string | null }
  | { "kind": "generator" };

export interface Threshold {
  metric: Metric;
  selector: Selector;
  aggregate: Aggregate;
  bound: Bound;
  window: Window;
  /** Seconds at the start of the run that are ignored (warm-up). Whole seconds. */
  after_seconds: number;
  /** Stop the run as soon as this threshold is certain to fail. */
  abort: boolean;
  /** One line for readers: `response time p99 of "Tap response" below 50 ms over 10 s`. */
  label: string;
}

export interface ThresholdResult {
  threshold: Threshold;
  state: ThresholdState;
  /** In the metric's base unit (seconds, count, per second, share). For windows: of the worst window. */
  measured: number | null;
  /** For windows: where the worst window began. Seconds since the run began. */
  at_seconds: number | null;
  /** While running: it does not hold with what was measured so far, and may yet. */
  failing?: boolean;
  /** One sentence: `p99 was 38.2 ms (95 % interval 37.1–40.0 ms), bound 50 ms`. */
  detail: string;
  /** The sentence without the bound, for lines that name the threshold. Empty without data. */
  reading?: string;
}

export type ThresholdState = "passed" | "failed" | "no_data" | "undecided" | "pending";

export interface Validity {
  /** The worst of the checks. */
  grade: Grade;
  checks: Array<ValidityCheck>;
}

/** One validity check. Definitions and limits: docs/validity.md. */
export interface ValidityCheck {
  /** Stable identifier: `offered-rate`, `schedule-lag`, … */
  id: string;
  title: string;
  /** `null`: nothing to judge (no open load, no data). */
  grade: Grade | null;
  /** What was measured, with numbers, in one sentence. */
  evidence: string;
  /** From where on it is suspect, and from where on invalid. */
  limits: string;
  /** What to do about it; empty when fine. */
  advice: string;
}

/**
 * What is concluded from one run: whether the measurement was valid, whether the system met its objectives, and what limits it. Whether it is better
 * than before takes a comparison of two runs, which is not part of it.
 */
export interface Verdict {
  validity: Validity;
  thresholds: Array<ThresholdResult>;
  findings: Findings;
}

/** The period over which a threshold is evaluated. */
export type Window = "whole_run" | { "every": { seconds: number } };
