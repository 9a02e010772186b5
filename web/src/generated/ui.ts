// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

import type { ParameterKind, Tone } from "./report";

/** An experiment or a search as the page lists it. */
export interface AnswerRow {
  /** Path of its folder below that of the runs. */
  id: string;
  kind: "experiment" | "capacity";
  test: string;
  /** The knob with its values, or what must hold. */
  about: string;
  /** Milliseconds since 1970 in which it last changed. */
  changed_ms: number;
  word: string;
  tone: Tone;
  headline: string;
}

/** A knob as its form shows it. */
export interface KnobField {
  name: string;
  values: Array<string>;
}

/** As the page sends it. Of every text, an empty one is the default. */
export type OrderedWork =
  | { "kind": "run" }
  | { "kind": "experiment", knob: string, block: string, rounds: string, effect: string, measure: string }
  | { "kind": "capacity", objectives: Array<string>, first: string, most: string, precision: string, probe: string, budget: string };

/** A parameter as its form shows it. */
export interface ParameterField {
  name: string;
  kind: ParameterKind;
  help: string | null;
  /** The value used when none is given: the test's default, or that of the environment of `loadstone ui`. Masked when secret. */
  default: string | null;
  secret: boolean;
}

/** An entry as the page sees it. */
export interface QueueRow {
  id: string;
  file: string;
  name: string;
  state: "waiting" | "running" | "failed";
  parameters: { [key in string]: string };
  work: OrderedWork;
  live: string | null;
  /** How far an experiment or a search is. */
  progress?: WorkProgress;
  /** Why it failed. */
  problem: string | null;
}

/** What fields of a form hold that their parameters do not take. */
export interface RefusedFields {
  /** Why, by the name of the parameter. */
  fields: { [key in string]: string };
}

export interface TestFile {
  /** Path below the folder; starts a run. */
  file: string;
  name: string;
  /** Why it cannot run, as the command line would say it. */
  error: string | null;
  /** The load in words. */
  load: Array<string>;
  parameters: Array<ParameterField>;
  /** What an experiment can turn. */
  knobs: Array<KnobField>;
  /** What a search takes for objectives unless others are given. */
  objectives: Array<string>;
}

/** What is told, a line of JSON each time. */
export interface WorkProgress {
  /** What is going on: `round 3: pool 8`. */
  text: string;
  /** Share of the whole, as far as is known. */
  done: number;
  /** How long it probably still takes. */
  left_seconds: number;
  /** Path below the folder of runs of what is known so far. */
  answer: string;
}
