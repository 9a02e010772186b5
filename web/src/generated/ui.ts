// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

import type { ParameterKind } from "./report.ts";
import type { Tone } from "./answers.ts";

/** An experiment or a search, as listed on the page. */
export interface AnswerRow {
  /** Path of its folder, relative to the runs folder. */
  id: string;
  kind: "experiment" | "capacity";
  test: string;
  /** The knob with its values, or the objectives. */
  about: string;
  /** Time of its last change. Milliseconds since 1970. */
  changed_ms: number;
  word: string;
  tone: Tone;
  headline: string;
}

/** A knob, as shown in its form. */
export interface KnobField {
  name: string;
  values: Array<string>;
}

/** The request of the page. An empty string selects the default. */
export type OrderedWork =
  | { "kind": "run" }
  | { "kind": "url", rate: string, duration: string, process: string, observe: string, machine: boolean }
  | { "kind": "experiment", knob: string, block: string, rounds: string, effect: string, measure: string, finding: string, run: string }
  | { "kind": "capacity", objectives: Array<string>, first: string, most: string, precision: string, probe: string, budget: string };

/** A parameter, as shown in its form. */
export interface ParameterField {
  name: string;
  kind: ParameterKind;
  help: string | null;
  /** The default: the test's, or from the environment of `loadstone ui`. Masked if secret. */
  default: string | null;
  secret: boolean;
}

/** An entry, as shown on the page. */
export interface QueueRow {
  id: string;
  file: string;
  name: string;
  state: "waiting" | "running" | "failed";
  parameters: { [key in string]: string };
  work: OrderedWork;
  live: string | null;
  /** Progress of an experiment or a search. */
  progress?: WorkProgress;
  /** Why it failed. */
  problem: string | null;
}

/** Form fields whose values the test or the command rejects. */
export interface RefusedFields {
  /** The reason, by parameter name. */
  fields: { [key in string]: string };
  /** Why the command rejects the work, if it does. */
  work?: RefusedWork;
}

/** Why a command does not accept a form's request. */
export interface RefusedWork {
  /** The wrong field, named like the command's flag. `null`: the request as a whole. */
  field: string | null;
  why: string;
}

export interface TestFile {
  /** Path relative to the folder. Identifies the test when a run is started. */
  file: string;
  name: string;
  /** Why it cannot run, in the command line's words. */
  error: string | null;
  /** The load in words. */
  load: Array<string>;
  parameters: Array<ParameterField>;
  /** The knobs that an experiment can change. */
  knobs: Array<KnobField>;
  /** Default objectives of a capacity search. */
  objectives: Array<string>;
}

/** One report, a line of JSON. */
export interface WorkProgress {
  /** The current activity: `round 3: pool 8`. */
  text: string;
  /** Estimated share of the whole that is done. */
  done: number;
  /** Estimated remaining time. */
  left_seconds: number;
  /** Path of the current result, relative to the runs folder. `null`: there is none yet. */
  answer: string | null;
}
