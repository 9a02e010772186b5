// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

/** A tick on an axis. `at` is a share of its length, from the lower end. */
export interface AxisTick {
  at: number;
  text: string;
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

/** The part of an axis between two values. An end that the samples cannot determine is at the edge. */
export interface Interval {
  low: number;
  at: number;
  high: number;
}

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

export interface ProofView {
  word: string;
  tone: Tone;
  claim: string;
  because: string;
}

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

/** Where each resource would be saturated. The one that saturates first is first. */
export interface ResourcesView {
  /** Ticks for the throughput, on a logarithmic axis. */
  ticks: Array<AxisTick>;
  /** The throughput that the run sustained. */
  seen: number;
  rows: Array<CeilingRow>;
}

/** Requests in the system against throughput. */
export interface StretchMark {
  x: number;
  y: number;
  text: string;
}

/** The meaning of a word or a mark, for its colour. */
export type Tone = "good" | "warn" | "bad" | "none";

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
  /** Runs of the test that are not part of the trend, with the reasons: `2 cut short, 1 invalid`. */
  left_out?: string;
  /** The newest run is first. */
  changes: Array<TrendChangeView>;
  /** The oldest run is first. */
  runs: Array<TrendRunView>;
  /** Series with a step are first. */
  series: Array<TrendSeriesView>;
}
