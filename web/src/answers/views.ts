// What is said of several runs, as the server writes it: `view.rs` of crates/report/src/experiment, capacity and trend, field for field. Every text is
// written and every place is a share of its axis: the page only draws.

import type { RunComparison } from "../data/comparison";
import type { Tone } from "../format/words";

export interface AxisTick { at: number; text: string }
export interface Interval { low: number; at: number; high: number }

export interface TrendView {
  test: string;
  headline: string;
  promise: string;
  /** The newest first. */
  changes: { before: string; run: string; place: string; steps: { text: string; tone: Tone }[] }[];
  runs: { id: string; x: number }[];
  series: TrendSeriesView[];
}

export interface TrendSeriesView {
  title: string;
  level: string;
  noise: string;
  ticks: AxisTick[];
  points: { run: number; y: number; text: string }[];
  levels: ({ from: number; to: number } & Interval)[];
  steps: { x: number; text: string; tone: Tone; before: string; run: string }[];
}

export interface CapacityView {
  test: string;
  word: string;
  tone: Tone;
  headline: string;
  facts: [title: string, text: string][];
  limit_run?: string;
  cost: string;
  loads: AxisTick[];
  answer?: Interval;
  /** In the order in which they were made. */
  probes: { load: string; x: number; word: string; tone: Tone; length: string; run: string; measured: string[]; findings: string[] }[];
  objectives: ObjectiveView[];
}

export interface RampView {
  test: string;
  run: string;
  word: string;
  tone: Tone;
  headline: string;
  facts: [title: string, text: string][];
  inside: AxisTick[];
  throughputs: AxisTick[];
  ceiling?: Interval;
  stretches: { x: number; y: number; text: string }[];
  /** From left to right. */
  curve: [x: number, y: number][];
  resources?: { ticks: AxisTick[]; seen: number; rows: { what: string; full_at: string; bar: Interval }[] };
  unknown: [what: string, why: string][];
}

export interface ObjectiveView {
  title: string;
  ticks: AxisTick[];
  bound: number;
  marks: ({ x: number; tone: Tone; text: string } & Interval)[];
}

export interface ExperimentView {
  test: string;
  knob: string;
  values: string[];
  word: string;
  tone: Tone;
  headline: string;
  how: string;
  remarks: string[];
  proof?: { word: string; tone: Tone; claim: string; because: string };
  contrasts: {
    title: string; word: string; tone: Tone; headline: string;
    subjects: { title: string; rows: ExperimentRowView[] }[];
  }[];
  ratios: AxisTick[];
  same: Interval;
  sensitivities: string[];
  blocks: { value: number; round: number; x: number; run: string; text: string }[];
  courses: { title: string; ticks: AxisTick[]; points: { block: number; y: number; text: string }[] }[];
  promise: string;
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
  bar?: Interval;
}

/** What the page of an answer has in it. */
export type AnswerSource =
  | { feed: "comparison"; answer: RunComparison }
  | { feed: "experiment"; answer: ExperimentView }
  | { feed: "capacity"; answer: CapacityView }
  | { feed: "ramp"; answer: RampView }
  | { feed: "trend"; answer: TrendView };

/** Addresses within a history; a file that lies alone has none. */
export interface Links {
  run(id: string): string;
  compare(before: string, run: string): string;
}
