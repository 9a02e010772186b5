// The page's only input: `ReportView` of crates/report/src/view.rs, with the types of `analysis` and `metrics` inside it,
// field for field. Times are seconds unless the name says otherwise.

export type RunState = "running" | "completed" | "interrupted" | "aborted" | "failed" | "killed";
export type Grade = "valid" | "suspect" | "invalid";
export type ThresholdState = "passed" | "failed" | "no_data" | "undecided" | "pending";
export type Confidence = "low" | "medium" | "high";
export type MarkKind = "leaf_began" | "leaf_ended" | "load_ended" | "drained" | "stage" | "adjusted" | "warning" | "stopped";
export type SeriesKind = "request" | "group" | "iteration" | "check" | "flow";
export type Outcome =
  | "passed" | "status" | "expect" | "timeout" | "dns" | "refused" | "reset" | "closed" | "connect" | "tls" | "protocol" | "script"
  | "step" | "ports_exhausted" | "descriptors_exhausted" | "interrupted";
export type ParameterOrigin = "default" | "file" | "environment" | "command_line";

export interface TestView {
  name: string;
  id: string;
  file: string | null;
  target: string | null;
  started: string;
  /** Of the sources, and whether they differed from it. */
  commit?: string;
  state: RunState;
  state_detail: string;
  duration_seconds: number;
  planned_seconds: number | null;
  loadstone: string;
  /** A string if it does not fit a JavaScript number. */
  seed: number | string;
  workers: number;
  host: string;
  parameters: [name: string, value: string, origin: ParameterOrigin | string, help: string][];
  load: string[];
  tags: string[];
}

export interface Column {
  id: string;
  label: string;
  values: (number | null)[];
}

/** How the values of a panel are written: see `format/unit.ts`. */
export type Unit = "s" | "/s" | "users" | "bytes" | "share" | "1" | (string & {});

export interface Panel {
  id: string;
  title: string;
  unit: Unit;
  stacked: boolean;
  columns: Column[];
}

export interface Band {
  observer: string;
  panels: Panel[];
}

export interface HeatMap {
  edges: number[];
  /** Per step: `[bin, count, bin, count, …]`. */
  steps: number[][];
}

/** The charts of one request, on a grid of its own that begins with the run. */
export interface RequestCharts {
  step_seconds: number;
  panels: Panel[];
}

export interface MarkView {
  at_seconds: number;
  kind: MarkKind;
  text: string;
}

export interface Timeline {
  seconds: number[];
  step_seconds: number;
  panels: Panel[];
  heat: HeatMap;
  bands: Band[];
  marks: MarkView[];
  /** Where steps are longer than a second: what was kept in seconds. */
  close_ups?: CloseUp[] | undefined;
}

/** A stretch of the run; each value is of a second. */
export interface CloseUp {
  from_seconds: number;
  /** Those of the timeline by id, and of some signals. */
  panels: Panel[];
}

export interface SeriesKey {
  kind: SeriesKind;
  scenario: string;
  group?: string;
  name: string;
}

export interface ValidityCheck {
  id: string;
  title: string;
  grade: Grade | null;
  evidence: string;
  limits: string;
  advice: string;
}

export interface ThresholdResult {
  threshold: { label: string };
  state: ThresholdState;
  measured: number | null;
  at_seconds: number | null;
  /** While running: it does not hold so far, and may yet. */
  failing?: boolean;
  detail: string;
}

export interface Evidence {
  text: string;
  series: string[];
  from_seconds: number;
  to_seconds: number;
}

export type Subject =
  | { kind: "whole" | "generator" }
  | { kind: "requests"; names: string[] }
  | { kind: "group" | "scenario" | "flow" | "endpoint"; name: string }
  | { kind: "observed"; observer: string; part?: string };

export interface Quantity {
  name: string;
  value: number;
  unit: "seconds" | "per_second" | "share" | "count" | "bytes" | "bytes_per_second" | "cores" | "ratio";
  interval?: [low: number, high: number];
}

export interface Alternative {
  cause: string;
  ruled_out: boolean;
  because: string;
  text: string;
}

export interface Finding {
  rule: string;
  subject: Subject;
  quantities?: Quantity[];
  claim: string;
  confidence: Confidence;
  evidence: Evidence[];
  alternatives: Alternative[];
  next: string;
}

export interface Remark {
  kind: "nothing" | "nothing_so_far" | "no_limit" | "steady" | "cannot_tell" | "also";
  /** What is missing to name a limit, where the kind is `cannot_tell`. */
  missing?: string;
  text: string;
  /** The reason alone, where the limit is unknown. */
  summary: string;
}

export interface Verdict {
  validity: { grade: Grade; checks: ValidityCheck[] };
  thresholds: ThresholdResult[];
  findings: { findings: Finding[]; remark: Remark };
}

export interface Percentile {
  quantile: number;
  value: number | null;
  low: number | null;
  high: number | null;
  samples_beyond: number;
  /** By how much at most the load generator can have added to it, where that matters. */
  doubt?: number;
}

export interface TimeStats {
  count: number;
  mean: number | null;
  min: number | null;
  max: number | null;
  /** The longest wait was cut off: the true maximum is `max` or more. */
  max_is_bound?: boolean;
  percentiles: Percentile[];
  mean_doubt?: number;
  max_doubt?: number;
}

export interface RequestRow extends SeriesKey {
  count: number;
  failed: number;
  rate: number;
  response: TimeStats;
  service: TimeStats;
  lag: TimeStats;
  phases: [phase: string, times: TimeStats][];
  outcomes: [Outcome, number][];
  statuses: [number, number][];
  bytes_sent: number;
  bytes_received: number;
  /** Sent again, since the connection they went out on was being closed as idle. */
  retried: number;
}

export type Tags = Record<string, string>;

/** The part of a request, group or check that carries certain tags. */
export interface TaggedRow extends RequestRow {
  tags: Tags;
}

/** A metric of the test's own, or a part of it by tags. */
export interface MetricRow {
  name: string;
  kind: "trend" | "counter" | "gauge" | "rate";
  unit?: string;
  tags?: Tags;
  count: number;
  sum?: number;
  rate?: number;
  hits?: number;
  share?: number;
  last?: number;
  mean?: number;
  min?: number;
  max?: number;
  percentiles?: Percentile[];
}

export interface CheckRow extends SeriesKey {
  passed: number;
  failed: number;
}

export interface ErrorRow extends SeriesKey {
  outcome: Outcome;
  message: string;
  count: number;
  first_at_seconds: number;
  /** Trace id of the first, if requests carry one. */
  trace?: string;
  /** What the first of them were answered with. */
  samples?: ErrorSample[];
}

/** The answer to a request that failed, without secrets. */
export interface ErrorSample {
  at_seconds: number;
  status: number;
  headers: [name: string, value: string][];
  /** Its beginning; empty where it is no text. */
  body: string;
  body_bytes: number;
}

/** A signal of the system that is worth a look: the fields that the page uses. */
export interface SignalRow {
  name: string;
  unit: Unit;
}

/** Something that changed at an instant while the load stayed the same. */
export interface ChangeRow {
  of: "request" | "group" | "scenario" | "flow" | "signal";
  name: string;
  metric: "service.p50" | "service.mean" | "failures.share" | "value.p50" | (string & {});
  at_seconds: number;
  /** By how much that may be off, either way. */
  at_error_seconds: number;
  until_seconds: number | null;
  before: number;
  after: number;
  samples_before: number;
  samples_after: number;
}

export type ResourceKind =
  | "load" | "process" | "thread" | "group" | "machine" | "pool" | "sessions" | "endpoint" | "queue" | "heap" | "event_loop" | "descriptors" | "disk"
  | "network";

/** How a resource was used at some load; what was not measured is left out. */
export interface ResourceUse {
  used?: number;
  utilisation?: number;
  waiting?: number;
  errors?: number;
}

export interface ResourceRow {
  kind: ResourceKind;
  name: string;
  /** Of `used` and `limit`. */
  unit: string;
  limit?: number;
  /** Left out if the load did not vary. */
  low?: ResourceUse;
  /** Left out if it was not observed. */
  high?: ResourceUse;
}

export type SpanKind = "request" | "internal" | "server" | "client" | "producer" | "consumer";

/** A span of a request by where it stands. Times are means. */
export interface SpanRow {
  /** How many of the rows before it stand above it. */
  depth: number;
  service: string;
  name: string;
  kind: SpanKind;
  /** Per request. */
  calls: number;
  errors: number;
  mean_seconds: number;
  p95_seconds: number;
  own_seconds: number;
  /** Per request, on its critical path. */
  path_seconds: number;
  before_seconds: number;
  /** Left out if the load did not vary. */
  low_path_seconds?: number;
  high_path_seconds?: number;
}

/** What the time of a request is made of. */
export interface RequestSpans {
  scenario: string;
  name: string;
  traces: number;
  seconds: number;
  spans: SpanRow[];
}

/** Where the CPU time of an observed runtime's process goes. */
export interface RuntimeProfile {
  observer: string;
  stacks: ProfiledStack[];
  /** Samples for each second of CPU time per request; how many digits a number has follows from them. */
  samples_each?: number;
  free_samples_each?: number;
  held_samples_each?: number;
}

/** CPU time that requests take in one function, the last of the stack. Seconds per request. */
export interface ProfiledStack {
  stack: string[];
  seconds: number;
  /** Left out where work never waited, or too shortly to compare. */
  free_seconds?: number;
  held_seconds?: number;
}

/** One trace, whole. */
export interface KeptTrace {
  trace: string;
  kept_for: "slow" | "failed" | "sample";
  scenario: string;
  name: string;
  /** Nanoseconds on the run's clock. */
  at: number;
  total_ns: number;
  spans: KeptSpan[];
  left_out?: number;
}

export interface KeptSpan {
  /** Place of the span that it stands below. */
  parent?: number;
  service: string;
  name: string;
  kind: SpanKind;
  failed?: boolean;
  /** Since the trace began. */
  start_ns: number;
  duration_ns: number;
  own_ns: number;
}

export interface Totals {
  duration_seconds: number;
  requests: number;
  requests_failed: number;
  retried: number;
  request_rate: number;
  failure_share: number;
  iterations: number;
  iterations_failed: number;
  iterations_interrupted: number;
  arrivals_due: number;
  arrivals_started: number;
  users_max: number;
  bytes_sent: number;
  bytes_received: number;
  checks_passed: number;
  checks_failed: number;
  connections_opened: number;
}

export interface FlowStageRow {
  name: string;
  reached: number;
  backlog: number;
  backlog_max: number;
  time: TimeStats;
}

/** A flow's journeys: the fields that the page shows. */
export interface FlowRow {
  name: string;
  started: number;
  finished: number;
  timed_out: number;
  open: number;
  time: TimeStats;
  stages: FlowStageRow[];
  backlog_max: number;
}

export interface Summary {
  schema: number;
  id: string;
  test: string;
  started: string;
  totals: Totals;
  response: TimeStats;
  requests: RequestRow[];
  groups: RequestRow[];
  scenarios: RequestRow[];
  flows: FlowRow[];
  checks: CheckRow[];
  metrics?: MetricRow[];
  tagged?: TaggedRow[];
  errors: ErrorRow[];
  signals: SignalRow[];
  changes: ChangeRow[];
  resources?: ResourceRow[];
  /** Left out if no traces were observed. */
  spans?: RequestSpans[];
  /** Left out if no runtime was observed. */
  profiles?: RuntimeProfile[];
  verdict: Verdict;
}

export interface SlowSample extends SeriesKey {
  /** Nanoseconds on the run's clock. */
  started: number;
  response_ns: number;
  queue_ns?: number;
  dns_ns: number;
  connect_ns: number;
  tls_ns: number;
  wait_ns: number;
  body_ns: number;
  status: number;
  outcome: Outcome;
  /** Trace id, if requests carry one. */
  trace?: string;
}

export interface ReportView {
  version: number;
  test: TestView;
  summary: Summary;
  timeline: Timeline;
  distribution: [from: number, to: number, count: number][];
  sparks: (number | null)[][];
  /** Per row of `summary.requests`; no panels where there are too many requests. */
  request_charts: RequestCharts[];
  slowest: SlowSample[];
  /** Notes in words, per row of `summary.flows`. */
  flow_notes: string[][];
  /** Where the user's own store shows a trace, with `{trace}` for its id. */
  trace_link?: string;
  /** Single traces. Left out if there are none. */
  traces?: KeptTrace[];
  /** Percentiles to which the load generator may have added, in words; the largest part first. */
  doubt_notes?: string[];
  /** How many numbers are in doubt, and which, for the headline; left out where none is. */
  doubts_in_short?: string;
  notes: string[];
  /** While the run goes on: what its findings rest on. Left out if they are final, or none were looked for. */
  provisional?: Provisional;
}

/** How far findings can be relied on while their run goes on. */
export interface Provisional {
  /** They rest on this much of the run. */
  seconds: number;
  /** Found earlier and no longer; the latest first. */
  withdrawn: WithdrawnFinding[];
}

/** A finding that more seconds did not bear out. */
export interface WithdrawnFinding {
  rule: string;
  claim: string;
  held_seconds: number;
  gone_seconds: number;
}
