// Addresses within the history: `#/`, `#/runs/ID`, `#/runs/ID/with/ID`, and those of answers, which equal the paths of the server: `#/answers/ID`,
// `#/answers/ID/runs/RUN`, `#/experiments/TEST/RUN/FINDING`, `#/trends/TEST`, `#/comparisons/ID/ID`, `#/ramps/ID`.

import type { Links } from "../answers/source";

/** A finding by its number, and its run. */
export interface FindingToProve {
  run: string;
  finding: string;
}

export type HistoryAddress =
  /** `test`: the file whose form is open. */
  | { page: "home"; test?: string; proof?: FindingToProve }
  /** A run, the run overlaid on it, and the answer to which it belongs. */
  | { page: "run"; run: string; other: string | null; within: string | null }
  /** `path`: the path of the request to the server. */
  | { page: "answer"; path: string };

const part = (text: string | undefined) => (text ? decodeURIComponent(text) : null);

export function addressFrom(hash: string): HistoryAddress {
  const [, run, other] = /^#\/runs\/([^/]+)(?:\/with\/([^/]+))?$/.exec(hash) ?? [];
  if (run) return { page: "run", run: decodeURIComponent(run), other: part(other), within: null };
  const [, within, block] = /^#\/answers\/([^/]+)\/runs\/([^/]+)$/.exec(hash) ?? [];
  if (within && block) return { page: "run", run: decodeURIComponent(block), other: null, within: decodeURIComponent(within) };
  const [, file, of, finding] = /^#\/experiments\/([^/]+)\/([^/]+)\/(\d+)$/.exec(hash) ?? [];
  if (file && of && finding) return { page: "home", test: decodeURIComponent(file), proof: { run: decodeURIComponent(of), finding } };
  const [, path] = /^#\/(answers\/[^/]+|trends\/[^/]+|ramps\/[^/]+|comparisons\/[^/]+\/[^/]+)$/.exec(hash) ?? [];
  return path ? { page: "answer", path } : { page: "home" };
}

export function hashOf(run: string, other: string | null = null): string {
  return `#/runs/${encodeURIComponent(run)}${other ? `/with/${encodeURIComponent(other)}` : ""}`;
}

/** The form of an experiment that proves a finding. */
export const proofHash = (test: string, { run, finding }: FindingToProve): string =>
  `#/experiments/${encodeURIComponent(test)}/${encodeURIComponent(run)}/${finding}`;
export const answerHash = (id: string): string => `#/answers/${encodeURIComponent(id)}`;
export const trendHash = (test: string): string => `#/trends/${encodeURIComponent(test)}`;
export const rampHash = (run: string): string => `#/ramps/${encodeURIComponent(run)}`;
export const comparisonHash = (baseline: string, candidate: string): string =>
  `#/comparisons/${encodeURIComponent(baseline)}/${encodeURIComponent(candidate)}`;

/** The address of an answer's runs. */
export function linksOf(path: string): Links {
  return {
    run: (id) => (path.startsWith("answers/") ? `#/${path}/runs/${encodeURIComponent(id)}` : hashOf(id)),
    compare: comparisonHash,
  };
}
