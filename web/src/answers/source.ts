// An answer that rests on several runs: a comparison, an experiment, a capacity, a ramp, a trend.

import type { CapacityView, ExperimentView, RampView, TrendView } from "../generated/answers";
import type { RunComparison } from "../generated/comparison";

/** What the page of an answer contains: `AnswerSource` of crates/report/src/html.rs, by its feeds. */
export type AnswerSource =
  | { feed: "comparison"; answer: RunComparison }
  | { feed: "experiment"; answer: ExperimentView }
  | { feed: "capacity"; answer: CapacityView }
  | { feed: "ramp"; answer: RampView }
  | { feed: "trend"; answer: TrendView };

/** Addresses within a history. A page that was opened as a file has none. */
export interface Links {
  run(id: string): string;
  compare(before: string, run: string): string;
}
