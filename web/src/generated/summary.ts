// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

import type { MetricKind, RuleId, Subject, Verdict } from "./verdict.ts";

/** Something that changed at an instant while the load stayed the same. */
export interface ChangeRow {
  of: ChangedThing;
  /** Of a request, group or scenario; empty of what belongs to none. Absent from the files of earlier versions. */
  scenario?: string;
  group?: string;
  name: string;
  /** `service.p50` and `service.mean` in seconds, `failures.share`, or `value.p50` of a signal's readings as shown. */
  metric: string;
  /** Seconds since the run began, and by how much that may be off either way. */
  at_seconds: number;
  at_error_seconds: number;
  /** When it was over; `null`: it lasted. */
  until_seconds: number | null;
  before: number;
  after: number;
  samples_before: number;
  samples_after: number;
}

/** What a `ChangeRow` is about. */
export type ChangedThing = "request" | "group" | "scenario" | "flow" | "signal";

export interface CheckRow {
  passed: number;
  failed: number;
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
}

export interface ErrorRow {
  outcome: Outcome;
  message: string;
  count: number;
  first_at_seconds: number;
  /** The trace of the first, where requests carry one. */
  trace?: TraceId;
  /** What the first of them were answered with, where there was an answer. */
  samples?: Array<ErrorSample>;
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
}

/** The answer to a request that failed, without secrets. */
export interface ErrorSample {
  at_seconds: number;
  status: number;
  headers: Array<[string, string]>;
  /** Its beginning; empty where it is no text. */
  body: string;
  /** Of the whole body, decompressed. */
  body_bytes: number;
}

/** What an experiment showed about a finding. */
export interface FindingProof {
  rule: RuleId;
  subject: Subject;
  claim: string;
  state: ProofState;
  knob: string;
  /** One sentence. */
  because: string;
  /** Id of the experiment. */
  experiment?: string;
}

/** The journeys after the end of the load. */
export interface FlowDrain {
  load_end_seconds: number;
  /** At the end of the second in which the load ended. */
  open: number;
  /** From the end of the load to the last finish; `null` when journeys remained open. */
  seconds: number | null;
  /** Open when the run ended. */
  left: number;
}

/** A flow in the summary. */
export interface FlowRow {
  name: string;
  started: number;
  finished: number;
  /** Journeys whose timeout passed before they finished. */
  timed_out: number;
  /** Open at the end of the last slice. */
  open: number;
  /** Finishes after the timeout. */
  late: number;
  duplicates: number;
  /** Keys that finished or reached a stage without a start. */
  unmatched: number;
  /** Part of `unmatched`: keys that may be repeats of forgotten journeys. */
  unclear: number;
  /** Starts beyond the limit on open journeys. */
  unfollowed: number;
  /** Ended journeys that were discarded because of the limit on remembered journeys. */
  forgotten: number;
  /** Per second, from the first to the last slice in which any started, or finished. */
  start_rate: number;
  finish_rate: number;
  /** Count, mean and extremes are of `finished`; percentiles are of all that started. */
  time: TimeStats;
  stages: Array<FlowStageRow>;
  backlog_max: number;
  backlog_max_at_seconds: number;
  /** The longest time that any journey had been open at the end of a second. Seconds. */
  oldest_max: number;
  oldest_max_at_seconds: number;
  /** Finished journeys that were overtaken by one that started later. */
  overtaken: number;
  /** `overtaken` / `finished`; 0 when none finished. */
  overtaken_share: number;
  /** The largest difference between the start of an overtaken journey and the start of the journey that overtook it. Seconds. */
  overtaken_worst: number | null;
  /** The journeys that were open when the load ended; `null` when the run ended with its load. */
  drain: FlowDrain | null;
}

export interface FlowStageRow {
  name: string;
  /** Journeys that reached it. */
  reached: number;
  /** Open journeys that have reached this stage and no later one, at the end of the last slice. */
  backlog: number;
  backlog_max: number;
  /** From a journey's start until it reached the stage. */
  time: TimeStats;
}

/** Loadstone's own load generator, the tool that `loadstone watch` follows, or Loadstone's proxy between a tool and the system. */
export interface LoadSource {
  /** Within a sentence: `the load generator`, `k6`, `the proxy`. */
  name: string;
  /** The delay that response times contain and service times do not: `schedule lag`, `delay of the proxy`. */
  lag: string;
}

/** A custom metric in the summary, or its part with certain tags. Values are in its unit. Fields that its kind does not have are absent. */
export interface MetricRow {
  name: string;
  kind: MetricKind;
  unit?: string;
  /** Empty: the whole metric. */
  tags?: Tags;
  /** Number of recorded values. */
  count: number;
  /** Counter: the sum of the added values, and the sum per second. */
  sum?: number;
  rate?: number;
  /** Rate: the number of true values, and their share of `count`, 0 to 1. */
  hits?: number;
  share?: number;
  /** Gauge: the last value. */
  last?: number;
  /** Trend and gauge. */
  mean?: number;
  min?: number;
  max?: number;
  /** Trend: as for times. */
  percentiles?: Array<Percentile>;
}

/** How something measured ended. A failing target is an outcome, never an error of the tool. */
export type Outcome =
  | "passed"
  | "status"
  | "expect"
  | "timeout"
  | "dns"
  | "refused"
  | "reset"
  | "closed"
  | "connect"
  | "not_connected"
  | "tls"
  | "protocol"
  | "script"
  | "step"
  | "ports_exhausted"
  | "descriptors_exhausted"
  | "unsendable"
  | "interrupted";

/** A percentile with its interval and the number of samples beyond it. Seconds. */
export interface Percentile {
  /** 0.5, 0.99, … */
  quantile: number;
  /** `null`: too few samples for this percentile (see docs/metrics.md). */
  value: number | null;
  /** The lower end of the 95 % interval; `null` if it is not known. */
  low: number | null;
  /** The upper end. */
  high: number | null;
  /** Samples beyond the percentile. */
  samples_beyond: number;
  /** How much the generator may have added to it at most, where that matters. Seconds. */
  uncertainty?: number;
}

/** CPU time that requests take in one function, below the functions that called it. Seconds per request that ended, of any name. */
export interface ProfiledStack {
  /** The system's own functions, the outermost first; the last is the one that ran. */
  stack: Array<string>;
  /** Over all of the load. */
  seconds: number;
  /** In the seconds in which nothing was held up. Absent where work never was, or one of the two stretches is too short to compare. */
  free_seconds?: number;
  /** In the seconds in which work was held up. */
  held_seconds?: number;
}

export type ProofState = "proved" | "refuted" | "undecided";

/** A request, group or iteration series over the whole run. */
export interface RequestRow {
  count: number;
  failed: number;
  /** Ended per second, over the time from its first to its last slice. */
  rate: number;
  response: TimeStats;
  service: TimeStats;
  lag: TimeStats;
  /** `(phase, times)` in the order in which they happen; phases that never happened are left out. */
  phases: Array<[string, TimeStats]>;
  outcomes: Array<[Outcome, number]>;
  statuses: Array<[number, number]>;
  bytes_sent: number;
  bytes_received: number;
  /**
   * Resent because the server had not processed them: it was closing the idle connection, or refused the HTTP/2 stream. Absent
   * from the files of earlier versions.
   */
  retried: number;
  /** By how much `rate` may be too low, at most, as the load generator asked for less than it should have. Where it matters. */
  rate_uncertainty?: number;
  /** How many of `failed` may have been answered in time, at most, and were read late. Where it matters. */
  failed_uncertainty?: number;
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
}

/** The parts of a request's time, as the spans of its traces show. */
export interface RequestSpans {
  scenario: string;
  name: string;
  /** Traces that were put together. */
  traces: number;
  /** Mean time within the system: from the first span's start to the last entry's end. */
  seconds: number;
  /** In the order of the tree: each behind the span that it stands below. */
  spans: Array<SpanRow>;
}

/** What kind of thing a resource is. */
export type ResourceKind =
  | "load"
  | "process"
  | "thread"
  | "group"
  | "machine"
  | "pool"
  | "sessions"
  | "endpoint"
  | "queue"
  | "heap"
  | "event_loop"
  | "descriptors"
  | "disk"
  | "network";

/** A resource along the request path: what was observed of it at low and at high load, or that it was not observed. */
export interface ResourceRow {
  kind: ResourceKind;
  /** `process:8080`, `db_pool`, `sda`. */
  name: string;
  /** Of `used` and `limit`: `cores`, `connections`, `bytes`; empty where only a share is known. */
  unit: string;
  /** Places. */
  limit?: number;
  /** `undefined`: the load did not vary. */
  low?: ResourceUse;
  /** `undefined`: not observed. */
  high?: ResourceUse;
}

/** How a resource was used at some load: a row of Gregg's USE method (2013), utilisation, saturation and errors. `None`: not measured. */
export interface ResourceUse {
  /** Places in use, in the row's unit. */
  used?: number;
  /** Share of the places or of the time in use, 0 to 1. */
  utilisation?: number;
  /** How many wait for it. */
  waiting?: number;
  /** Per second. */
  errors?: number;
}

/** The run in a handful of numbers. */
export interface RunTotals {
  duration_seconds: number;
  requests: number;
  requests_failed: number;
  /** Requests resent because the server had not processed them. */
  retried: number;
  /** Requests ended per second over the run. */
  request_rate: number;
  /** Failed share, 0 to 1; 0 without requests. */
  failure_share: number;
  iterations: number;
  iterations_failed: number;
  iterations_interrupted: number;
  /** Open load: arrivals that came due, and arrivals that started. */
  arrivals_due: number;
  arrivals_started: number;
  users_max: number;
  bytes_sent: number;
  bytes_received: number;
  checks_passed: number;
  checks_failed: number;
  connections_opened: number;
  /** TLS handshakes that succeeded. */
  tls_handshakes: number;
  /** Those of them that resumed an earlier session, which costs the server less. */
  tls_resumed: number;
}

/** The CPU time of an observed runtime's process by function, from samples of its stacks. */
export interface RuntimeProfile {
  observer: string;
  stacks: Array<ProfiledStack>;
  /**
   * How many samples stand for a second of CPU time per request: over all of the load, while nothing was held up, and while work was. They say how many
   * digits a number has.
   */
  samples_each: number;
  free_samples_each?: number;
  held_samples_each?: number;
}

export type SeriesKind = "request" | "group" | "iteration" | "check";

/** A signal of the system that is worth a look: a finding rests on it, or it moved during the run. docs/metrics.md says which do. */
export interface SignalRow {
  /** `process:8080/cpu`, as its observer calls it. */
  name: string;
  /** Of the readings as shown, see `loadstone_metrics::Signal::unit_shown`: those of a counter are its growth per second. */
  unit: string;
  mean: number;
  min: number;
  max: number;
  /** When it was first at its maximum. Seconds since the run began. */
  max_at_seconds: number;
}

/** The role of a span in a call, with the kinds that OpenTelemetry distinguishes. */
export type SpanKind = "request" | "internal" | "server" | "client" | "producer" | "consumer";

/** A span of a request by where it stands, over the whole run. Times are means, in seconds. */
export interface SpanRow {
  /** How many of the rows before it stand above it: 0 is an entry. */
  depth: number;
  service: string;
  name: string;
  kind: SpanKind;
  /** Per request. */
  calls: number;
  errors: number;
  /** Of each call, from its start to its end. */
  mean_seconds: number;
  p95_seconds: number;
  /** Of that, without a child under way. */
  own_seconds: number;
  /** Per request, on its critical path: what it does itself or waits for. Over all spans of a request this adds up to its `seconds`. */
  path_seconds: number;
  /** Per request, right before its calls: part of the `path_seconds` of the span above. */
  before_seconds: number;
  /** `path_seconds` at low and at high load, where the load varied. */
  low_path_seconds?: number;
  high_path_seconds?: number;
}

/** Every number of a run that any surface shows. `summary.json` is this, with `schema` first. */
export interface Summary {
  /** Version of this schema: 2. */
  schema: number;
  id: string;
  test: string;
  started: string;
  /** What sent or carried the requests. Absent: Loadstone's own load generator. */
  source?: LoadSource;
  totals: RunTotals;
  /** Response times of all requests together. */
  response: TimeStats;
  requests: Array<RequestRow>;
  groups: Array<RequestRow>;
  /** Whole iterations, by scenario. */
  scenarios: Array<RequestRow>;
  flows: Array<FlowRow>;
  checks: Array<CheckRow>;
  /** Metrics of the test's own, and their parts by tags. */
  metrics?: Array<MetricRow>;
  /** Requests, groups and checks by their tags. */
  tagged?: Array<TaggedRow>;
  errors: Array<ErrorRow>;
  /** A few of the system's own signals. Absent from the files of earlier versions. */
  signals: Array<SignalRow>;
  /** What changed in time. Absent from the files of earlier versions. */
  changes: Array<ChangeRow>;
  /** What was observed of each resource on the way, and what was not observed. */
  resources?: Array<ResourceRow>;
  /** What the time of each request is made of, if traces were observed. */
  spans?: Array<RequestSpans>;
  /** Which functions of the observed runtimes take their CPU time. */
  profiles?: Array<RuntimeProfile>;
  /** What later experiments showed about the findings. `conclude` knows none: they are stored next to the run. */
  proofs?: Array<FindingProof>;
  verdict: Verdict;
}

/** The part of a request, group or check that carries certain tags, over the whole run. It is in its row of that name, too. */
export interface TaggedRow {
  tags: Tags;
  count: number;
  failed: number;
  /** Ended per second, over the time from its first to its last slice. */
  rate: number;
  response: TimeStats;
  service: TimeStats;
  lag: TimeStats;
  /** `(phase, times)` in the order in which they happen; phases that never happened are left out. */
  phases: Array<[string, TimeStats]>;
  outcomes: Array<[Outcome, number]>;
  statuses: Array<[number, number]>;
  bytes_sent: number;
  bytes_received: number;
  /**
   * Resent because the server had not processed them: it was closing the idle connection, or refused the HTTP/2 stream. Absent
   * from the files of earlier versions.
   */
  retried: number;
  /** By how much `rate` may be too low, at most, as the load generator asked for less than it should have. Where it matters. */
  rate_uncertainty?: number;
  /** How many of `failed` may have been answered in time, at most, and were read late. Where it matters. */
  failed_uncertainty?: number;
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
}

/** Names and their values, sorted by name. Clones share them. */
export type Tags = Record<string, string>;

/** Distribution of one kind of time. Seconds. */
export interface TimeStats {
  count: number;
  mean: number | null;
  min: number | null;
  max: number | null;
  /** The longest time was cut off by a time limit or by the end of the run: the true maximum is `max` or more. */
  max_is_bound?: boolean;
  /** 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999 in this order. */
  percentiles: Array<Percentile>;
  /** How much the generator may have added to the mean at most, where that matters. Seconds. */
  mean_uncertainty?: number;
  /** The same for the maximum. Seconds. */
  max_uncertainty?: number;
}

/** The trace id of a `traceparent` header: 128 bits, not all zero, written as 32 digits (W3C Trace Context, section 3.2.2.3). */
export type TraceId = string;
