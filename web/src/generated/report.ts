// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

import type { Grade, RuleId, Subject } from "./verdict.ts";
import type { Outcome, SeriesKind, SpanKind, Summary, TraceId } from "./summary.ts";
import type { EvidenceCharts, Panel, Timeline } from "./charts.ts";
import type { RunComparison } from "./comparison.ts";

/** The present view, without the steps of its timeline that the reader already has. */
export interface Delta {
  /** Number of leading steps of the previous view that are unchanged. */
  kept: number;
  /** The same for the charts of each request. */
  kept_charts: Array<number>;
  /** All data over time begins at step `kept`. */
  view: ReportView;
}

/** A finding's rule, explained. */
export interface FindingExplanation {
  /** The name under which `loadstone explain` shows its page. */
  page: string;
  /** Its text, as Markdown: headings, paragraphs, lists, tables and quotes. */
  markdown: string;
  /** The command that would prove or refute the finding, if a setting of the system can. */
  experiment?: string;
}

/** The same for the history of a folder. */
export interface HistorySource {
  feed: "history";
  api: string;
  token: string;
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

export type ParameterKind =
  | { "number": { min: number | null, max: number | null } }
  | "string"
  | "boolean"
  | "duration"
  | "url"
  | { "choice": { options: Array<string> } }
  | "delay";

/** How reliable findings are while their run is in progress. */
export interface ProvisionalView {
  /** The findings rest on this many seconds of the run. */
  seconds: number;
  /** Findings that later seconds did not confirm; the latest is first. */
  withdrawn: Array<WithdrawnFinding>;
}

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
  /** For each finding: what its rule's documentation states, and the experiment that would prove it. */
  explanations?: Array<FindingExplanation>;
  /** The slowest requests of the run, slowest first. */
  slowest: Array<SlowSample>;
  /** Notes per row of `summary.flows`, in sentences. */
  flow_notes: Array<Array<string>>;
  /** Notes on percentiles to which the generator may have added, in sentences. The largest share is first. */
  uncertainty_notes?: Array<string>;
  /** The most that the generator may have added to each headline percentile, in a sentence; `undefined` if all are certain. */
  uncertainty_in_short?: string;
  /** Headline percentiles that may consist of the generator's noise for a large part, by name. The verdict excepts them. */
  unusable_percentiles?: Array<string>;
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

/** Identity of a series. Series of two workers with equal keys are the same series. */
export interface SeriesKey {
  kind: SeriesKind;
  scenario: string;
  /** The innermost group around the request. Empty outside groups. */
  group?: string;
  /** Request name, group name, check name; the scenario's own name for iterations. */
  name: string;
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

/** The state of the run after the commands so far. */
export interface Steering {
  paused: boolean;
  /** Factor of the planned load while the run is not paused. */
  scale: number;
}

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
