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

/** A tick on an axis. `at` is a share of its length, from the lower end. */
export interface AxisTick {
  at: number;
  text: string;
}

/** The signals of one observer. */
export interface Band {
  observer: string;
  panels: Array<Panel>;
}

export interface BlockView {
  /** Index into `values`. */
  value: number;
  /** From 1. */
  round: number;
  /** Share of the width. */
  x: number;
  run: string;
  text: string;
}

/** A comparison with a value in the metric's base unit: seconds, a count, a rate per second or a share. */
export interface Bound {
  comparison: Comparison;
  value: number;
}

export interface CapacityView {
  test: string;
  word: string;
  tone: Tone;
  headline: string;
  /** Which objectives must hold, which fails first, and what limits the system, each with its title. */
  facts: Array<[string, string]>;
  /** The run that shows the limit. */
  limit_run?: string;
  /** Number of probes, and their duration. */
  cost: string;
  /** Ticks for the loads, on a logarithmic axis. */
  loads: Array<AxisTick>;
  /** The interval of the capacity. */
  answer?: Interval;
  /** In the order of execution. */
  probes: Array<ProbeView>;
  objectives: Array<ObjectiveView>;
}

export interface CeilingRow {
  what: string;
  full_at: string;
  bar: Interval;
}

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

/** One line of a chart: a value per step of the timeline, `None` where there is none. */
export interface ChartColumn {
  /** Unique on the page. Findings refer to it: `rate/asked`, `response/p99`, `signal/process:8080/cpu`. docs/timeline.md lists all ids. */
  id: string;
  label: string;
  values: Array<number | null>;
  /** For percentiles of seconds with too few samples: they are pooled, and each pool has one value. */
  pool?: Pool;
}

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

/** A part of the run at full resolution, for a page that is zoomed in. */
export interface CloseUp {
  /** The second of the run at which it begins. Each value of its columns covers one second. */
  from_seconds: number;
  /** Panels of the timeline, by id, and of the signals that the summary shows. */
  panels: Array<Panel>;
}

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

export type Comparison = "below" | "at_most" | "above" | "at_least" | "equals";

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

export type Confidence = "low" | "medium" | "high";

/** One value compared with the first value. */
export interface ContrastView {
  title: string;
  word: string;
  tone: Tone;
  headline: string;
  subjects: Array<ExperimentSubjectView>;
}

export interface CoursePoint {
  /** Index into `blocks`. */
  block: number;
  y: number;
  text: string;
}

export interface CourseView {
  title: string;
  ticks: Array<AxisTick>;
  points: Array<CoursePoint>;
}

/** The present view, without the steps of its timeline that the reader already has. */
export interface Delta {
  /** Number of leading steps of the previous view that are unchanged. */
  kept: number;
  /** The same for the charts of each request. */
  kept_charts: Array<number>;
  /** All data over time begins at step `kept`. */
  view: ReportView;
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

/** The requests' own series that one piece of evidence names. Empty if its series are those of the whole run, which the timeline has. */
export interface EvidenceCharts {
  step_seconds: number;
  /** One for each unit. */
  panels: Array<Panel>;
  /** Distribution of the requests' response times, like that of the view, if the evidence marks times in it. */
  distribution?: Array<[number, number, number]>;
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

export interface ExperimentRowView {
  metric: string;
  decides: boolean;
  from: string;
  to: string;
  change: string;
  interval: string;
  verdict: string;
  tone: Tone;
  why: string;
  /** The interval of a ratio. */
  bar?: Interval;
}

export interface ExperimentSubjectView {
  title: string;
  rows: Array<ExperimentRowView>;
}

export interface ExperimentView {
  test: string;
  knob: string;
  values: Array<string>;
  /** The verdict of the first contrast, and its sentence. */
  word: string;
  tone: Tone;
  headline: string;
  /** The procedure, and why it ended. */
  how: string;
  remarks: Array<string>;
  /** The result for the finding that the experiment tests. */
  proof?: ProofView;
  contrasts: Array<ContrastView>;
  /** Ticks for the ratios, on a logarithmic axis. */
  ratios: Array<AxisTick>;
  /** The range of changes that do not matter. */
  same: Interval;
  /** The cost of each added millisecond. */
  sensitivities: Array<string>;
  blocks: Array<BlockView>;
  /** Each deciding number, block by block. */
  courses: Array<CourseView>;
  promise: string;
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
}

/** A finding of either run and its counterpart in the other run. */
export interface FindingMove {
  state: FindingState;
  rule: RuleId;
  subject: Subject;
  /** The claims. */
  baseline: string | null;
  candidate: string | null;
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

export type FindingState = "new" | "gone" | "moved" | "same";

export interface Findings {
  /** Most important first. */
  findings: Array<Finding>;
  remark: Remark;
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

export interface GateResult {
  gate: ComparisonGate;
  state: GateState;
  /** One sentence. */
  detail: string;
}

export type GateState = "held" | "failed" | "undecided";

/** How far a measurement can be trusted; ordered from best to worst. */
export type Grade = "valid" | "suspect" | "invalid";

/** The heat map of response times: counts per time step and logarithmic response-time bin. */
export interface HeatMap {
  /** Lower edges of the bins, seconds, ascending; the last entry is the upper edge of the last bin. */
  edges: Array<number>;
  /** One list per time step: `[bin, count, bin, count, …]`, empty bins left out. */
  steps: Array<Array<number>>;
}

/** The same for the history of a folder. */
export interface HistorySource {
  feed: "history";
  api: string;
  token: string;
}

/** The part of an axis between two values. An end that the samples cannot determine is at the edge. */
export interface Interval {
  low: number;
  at: number;
  high: number;
}

/** Why a trace was kept. */
export type KeptFor = "slow" | "failed" | "sample";

/** One of its spans. */
export interface KeptSpan {
  /** The index of its parent span. `undefined` for an entry span. */
  parent?: number;
  service: string;
  name: string;
  kind: SpanKind;
  failed?: boolean;
  /** Relative to the trace's `at`. Nanoseconds. */
  start_ns: number;
  duration_ns: number;
  own_ns: number;
}

/** All spans of one request. */
export interface KeptTrace {
  trace: TraceId;
  kept_for: KeptFor;
  /** The request's scenario. */
  scenario: string;
  name: string;
  /** When its first span began, on the run's clock (assuming that the machines' clocks agree). */
  at: number;
  /** From there to the end of its last entry span. Nanoseconds. */
  total_ns: number;
  /** In the order in which they began. At most `KeptTrace::SPANS_MAX`. */
  spans: Array<KeptSpan>;
  /** Number of omitted spans. */
  left_out?: number;
}

/** What a server inserts into the page instead of a view: the address of the views, and the token that lets the reader control the run. */
export interface LiveSource {
  feed: "live";
  events: string;
  control: string;
  token: string;
  /** Where all runs are listed. */
  home?: string;
}

export type MarkKind = "leaf_began" | "leaf_ended" | "load_ended" | "drained" | "stage" | "adjusted" | "warning" | "stopped";

export interface MarkView {
  at_seconds: number;
  kind: MarkKind;
  text: string;
}

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

/** What is missing to name a limit. */
export type MissingKnowledge =
  | "too_few_requests"
  | "failures_first"
  | "incomplete_run"
  | "invalid_measurement"
  | "unexplained_waiting"
  | "higher_load"
  | "varied_load";

/** The result of one probe for this objective. */
export interface ObjectiveMark {
  x: number;
  tone: Tone;
  text: string;
  low: number;
  at: number;
  high: number;
}

/** One objective over the load. */
export interface ObjectiveView {
  title: string;
  ticks: Array<AxisTick>;
  /** Position of the bound. */
  bound: number;
  marks: Array<ObjectiveMark>;
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
  | "tls"
  | "protocol"
  | "script"
  | "step"
  | "ports_exhausted"
  | "descriptors_exhausted"
  | "unsendable"
  | "interrupted";

/** One chart on the shared time axis. */
export interface Panel {
  /**
   * `rate`, `response`, `users`, `in_flight`, `failures`, `phases`, `bytes`, `flow/NAME`, `generator`, `generator_lag`. For a signal: `signal/`
   * and its name without the label.
   */
  id: string;
  title: string;
  /** `s` (times, drawn in fitting units), `/s`, `users`, `bytes`, `bytes/s`, `share`, `1`, or the unit of a signal. */
  unit: string;
  /** Draw the columns as a stacked area. */
  stacked: boolean;
  columns: Array<ChartColumn>;
}

export type ParameterKind =
  | { "number": { min: number | null, max: number | null } }
  | "string"
  | "boolean"
  | "duration"
  | "url"
  | { "choice": { options: Array<string> } }
  | "delay";

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

/** How the values of a column are pooled. */
export interface Pool {
  /** Length of a pool. The first begins with the column. */
  seconds: number;
  /** Number of samples per pool. */
  samples: Array<number>;
}

export interface ProbeView {
  load: string;
  /** Share of the width. */
  x: number;
  word: string;
  tone: Tone;
  length: string;
  run: string;
  /** The measured values, one for each objective. */
  measured: Array<string>;
  findings: Array<string>;
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

export interface ProofView {
  word: string;
  tone: Tone;
  claim: string;
  because: string;
}

/** How reliable findings are while their run is in progress. */
export interface ProvisionalView {
  /** The findings rest on this many seconds of the run. */
  seconds: number;
  /** Findings that later seconds did not confirm; the latest is first. */
  withdrawn: Array<WithdrawnFinding>;
}

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

export interface RampView {
  test: string;
  run: string;
  word: string;
  tone: Tone;
  headline: string;
  /** The highest measured throughput and the limit, each with its title. */
  facts: Array<[string, string]>;
  /** Ticks for the number of requests in the system, on a logarithmic axis. */
  inside: Array<AxisTick>;
  /** Ticks for the throughput. */
  throughputs: Array<AxisTick>;
  /** The interval of the highest throughput, on that axis. */
  ceiling?: Interval;
  stretches: Array<StretchMark>;
  /** The fitted law, from left to right. */
  curve: Array<[number, number]>;
  resources?: ResourcesView;
  /** Resources whose limit is unknown, and why. */
  unknown: Array<[string, string]>;
}

/** What the findings as a whole mean, as data and as text. */
export interface Remark {
  kind: RemarkKind;
  /** What is missing to name a limit, where the limit is unknown. */
  missing?: MissingKnowledge;
  /** All of it. Empty where there is nothing to add. */
  text: string;
  /** The same in short, for a headline: the reason alone where the limit is unknown. */
  summary: string;
}

/** What the findings as a whole mean. */
export type RemarkKind = "nothing" | "nothing_so_far" | "no_limit" | "steady" | "cannot_tell" | "also";

/** The whole page. */
export interface ReportView {
  /** Version of this schema: 1. */
  version: number;
  test: TestView;
  summary: Summary;
  timeline: Timeline;
  /** Distribution of all response times: `(from seconds, to seconds, count)`, logarithmic bins. */
  distribution: Array<[number, number, number]>;
  /** Spark lines for the table, per row of `summary.requests`: mean response time per step, at most 60 steps. Empty if a request has no slices. */
  sparks: Array<Array<number | null>>;
  /** Charts per row of `summary.requests`. */
  request_charts: Array<RequestCharts>;
  /** For each finding, and each piece of its evidence: the requests' own series that it rests on. */
  evidence_charts: Array<Array<EvidenceCharts>>;
  /** The slowest requests of the run, slowest first. */
  slowest: Array<SlowSample>;
  /** Notes per row of `summary.flows`, in sentences. */
  flow_notes: Array<Array<string>>;
  /** Notes on percentiles to which the generator may have added, in sentences. The largest share is first. */
  uncertainty_notes?: Array<string>;
  /** The uncertain numbers for the headline, and how many more there are; `undefined` if every number is certain. */
  uncertainty_in_short?: string;
  /** Address of a trace in the user's trace store, with `{trace}` for its id. */
  trace_link?: string;
  /** Complete traces: for each request some slow ones, some failed ones, and a random sample. Empty while the run is in progress. */
  traces?: Array<KeptTrace>;
  /** Changes to the load during the run, and warnings of the tool. */
  notes: Array<string>;
  /** The comparison with the baseline that the run was started with. Only in the report that the run itself writes. */
  comparison?: RunComparison;
  /** While the run is in progress: what its findings rest on. `undefined` if they are final, or if there was no search for findings. */
  provisional?: ProvisionalView;
}

/** The charts of one request, on a separate grid that begins with the run. */
export interface RequestCharts {
  /** A whole multiple of the timeline's step, or a whole fraction of it. */
  step_seconds: number;
  /** `rate`, `response`, `failures`, and `spans` if the request's traces were observed. Empty if there are too many requests to draw each. */
  panels: Array<Panel>;
}

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

/** Where each resource would be saturated. The one that saturates first is first. */
export interface ResourcesView {
  /** Ticks for the throughput, on a logarithmic axis. */
  ticks: Array<AxisTick>;
  /** The throughput that the run sustained. */
  seen: number;
  rows: Array<CeilingRow>;
}

export type RowVerdict = "better" | "worse" | "same" | "moved" | "cannot_tell";

/** The stable identifier of a rule, such as `connection-pool`. It names the rule's page in docs/findings. */
export type RuleId = string;

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
  /** The verdict in one sentence, with its most important numbers. */
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

/** One run in a list. Also the schema of `loadstone runs --json`. */
export interface RunRow {
  id: string;
  directory: string;
  test: string;
  /** RFC 3339. */
  started: string;
  state: RunState;
  /** The numbers are `null` for a run that has not been concluded. */
  duration_seconds: number | null;
  requests: number | null;
  /** Requests that ended per second, over the run. */
  request_rate: number | null;
  failed: number | null;
  p95_seconds: number | null;
  validity: Grade | null;
  thresholds: number | null;
  thresholds_met: number | null;
  tags: Array<string>;
  /** The note that people wrote about it. */
  note?: string;
  /** The claim of its first finding. */
  finding?: string;
  /** Branch and commit of the sources, where they are known, and whether the sources differed from that commit. */
  branch?: string;
  commit?: string;
  dirty?: boolean;
  /** Name and value, secrets masked. */
  parameters?: Array<[string, string]>;
}

export type RunState = "running" | "completed" | "interrupted" | "aborted" | "failed" | "killed";

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

/** Identity of a series. Series of two workers with equal keys are the same series. */
export interface SeriesKey {
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
}

export type SeriesKind = "request" | "group" | "iteration" | "check";

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

/** A single slow request, for the list of the slowest. */
export interface SlowSample {
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
  /** Its trace, if requests carry one. */
  trace?: TraceId;
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
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

/** The state of the run after the commands so far. */
export interface Steering {
  paused: boolean;
  /** Factor of the planned load while the run is not paused. */
  scale: number;
}

/** Requests in the system against throughput. */
export interface StretchMark {
  x: number;
  y: number;
  text: string;
}

/** What a finding is about. */
export type Subject =
  | { "kind": "whole" }
  | { "kind": "requests", names: Array<string> }
  | { "kind": "group", name: string }
  | { "kind": "scenario", name: string }
  | { "kind": "flow", name: string }
  | { "kind": "endpoint", name: string }
  | { "kind": "observed", observer: string, part?: string | null }
  | { "kind": "generator" };

export type SubjectKind = "all" | "request" | "group" | "scenario" | "flow" | "target" | "metric" | "signal";

/** Every number of a run that any surface shows. `summary.json` is this, with `schema` first. */
export interface Summary {
  /** Version of this schema: 2. */
  schema: number;
  id: string;
  test: string;
  started: string;
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

/** What was run, where, and with which settings. */
export interface TestView {
  name: string;
  id: string;
  file: string | null;
  target: string | null;
  /** RFC 3339. */
  started: string;
  /** Commit of the sources: `39dbcdc0…`, and whether the sources differed from it. */
  commit?: string;
  state: RunState;
  /** Why the run ended early; empty otherwise. */
  state_detail: string;
  duration_seconds: number;
  /** Length of the load as planned, if it has one. */
  planned_seconds: number | null;
  loadstone: string;
  /** A string if it does not fit a JavaScript number. */
  seed: number | string;
  workers: number;
  /** One line: `host-1 · AMD EPYC · 2 cores · 24 GiB · Linux 6.1`. */
  host: string;
  /** `(name, value with secrets masked, origin: default|file|environment|command_line, help)`. */
  parameters: Array<[string, string, string, string]>;
  /** The load in words, one line per scenario run: `Buy a ticket: 4 arrivals/s for 1m`. */
  load: Array<string>;
  tags: Array<string>;
}

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

/** A threshold that one run passed and the other failed. Both results are decided: see the thresholds of either run. */
export interface ThresholdMove {
  label: string;
  /** The run that failed. */
  failed: Side;
  /** The candidate's result in one sentence. */
  detail: string;
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
}

export type ThresholdState = "passed" | "failed" | "no_data" | "undecided" | "pending";

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

/** Everything that varies over time, on one axis. */
export interface Timeline {
  /** Start of each step, seconds since the run began. */
  seconds: Array<number>;
  /** Length of a step; 1 unless a long run was downsampled. */
  step_seconds: number;
  panels: Array<Panel>;
  heat: HeatMap;
  bands: Array<Band>;
  marks: Array<MarkView>;
  /** Parts of the run in steps of one second, if the timeline's steps are longer. Finished runs only. */
  close_ups?: Array<CloseUp>;
}

/** The meaning of a word or a mark, for its colour. */
export type Tone = "good" | "warn" | "bad" | "none";

/** The trace id of a `traceparent` header: 128 bits, not all zero, written as 32 digits (W3C Trace Context, section 3.2.2.3). */
export type TraceId = string;

/** All steps of one run. */
export interface TrendChangeView {
  /** Ids of the two runs. */
  before: string;
  run: string;
  place: string;
  steps: Array<TrendLine>;
}

/** The value between two steps, and how much single runs differ from it. */
export interface TrendLevel {
  /** Shares of the width. */
  from: number;
  to: number;
  low: number;
  at: number;
  high: number;
}

export interface TrendLine {
  text: string;
  tone: Tone;
}

export interface TrendPoint {
  /** Index into `runs`. */
  run: number;
  y: number;
  text: string;
}

export interface TrendRunView {
  id: string;
  /** Share of the width. */
  x: number;
}

export interface TrendSeriesView {
  title: string;
  level: string;
  noise: string;
  ticks: Array<AxisTick>;
  points: Array<TrendPoint>;
  levels: Array<TrendLevel>;
  steps: Array<TrendStepView>;
}

export interface TrendStepView {
  x: number;
  text: string;
  tone: Tone;
  before: string;
  run: string;
}

export interface TrendView {
  test: string;
  headline: string;
  /** The statistical guarantee of all steps together. */
  promise: string;
  /** The newest run is first. */
  changes: Array<TrendChangeView>;
  /** The oldest run is first. */
  runs: Array<TrendRunView>;
  /** Series with a step are first. */
  series: Array<TrendSeriesView>;
}

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

/** A finding that more seconds did not bear out. */
export interface WithdrawnFinding {
  rule: RuleId;
  subject: Subject;
  claim: string;
  /** It was made of this much of the run, the last time. Seconds. */
  held_seconds: number;
  /** This much of the run no longer showed it. Seconds. */
  gone_seconds: number;
}
