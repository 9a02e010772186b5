// The history of a folder, as `loadstone ui` serves it: its tests, the queue of runs, the runs that are over. Read `HistoryClient` first. Paths are
// below `api`; every request that changes something carries the token.

import type { AnswerSource } from "../answers/views";
import type { Tone } from "../format/words";
import type { Grade, ReportView, RunState } from "../view";
import { checked, readJson } from "./read";

/** What the server puts into the page in place of a view. */
export interface HistorySource {
  feed: "history";
  /** Path on the page's own origin, without a trailing slash. */
  api: string;
  /** Shows that the reader was given the address. Empty: the page is read-only. */
  token: string;
}

/** `GET runs`, newest first: `RunRow` of crates/report/src/listing.rs, and the note. */
export interface RunRow {
  id: string;
  directory: string;
  test: string;
  started: string;
  state: RunState;
  duration_seconds: number | null;
  requests: number | null;
  request_rate: number | null;
  failed: number | null;
  p95_seconds: number | null;
  validity: Grade | null;
  thresholds: number | null;
  thresholds_met: number | null;
  tags: string[];
  note?: string;
  /** What the first finding says. */
  finding?: string;
  /** Branch and commit of the sources, and whether they differed from it. */
  branch?: string;
  commit?: string;
  dirty?: boolean;
  parameters?: [name: string, value: string][];
}

/** `plan::ParameterKind`. */
export type ParameterKind =
  | "string" | "boolean" | "duration" | "url" | "delay"
  | { number: { min: number | null; max: number | null } }
  | { choice: { options: string[] } };

/** `plan::Parameter`, as far as a form needs it. */
export interface Parameter {
  name: string;
  kind: ParameterKind;
  help: string | null;
  default: string | null;
  secret: boolean;
}

/** `GET tests`. A file that does not compile is listed with its error. */
export interface TestFile {
  file: string;
  name: string;
  error: string | null;
  load: string[];
  parameters: Parameter[];
  /** What an experiment can turn. */
  knobs: { name: string; values: string[] }[];
  /** What a search takes for objectives unless others are given. */
  objectives: string[];
}

/** What is to be done with a test. Of every text, an empty one is the default. */
export type Work =
  | { kind: "run" }
  | { kind: "experiment"; knob: string; block: string; rounds: string; effect: string; measure: string }
  | { kind: "capacity"; objectives: string[]; first: string; most: string; precision: string; probe: string; budget: string };

/** `GET answers`, the latest first: experiments and searches. */
export interface AnswerRow {
  /** Path of its folder below that of the runs. */
  id: string;
  kind: "experiment" | "capacity";
  test: string;
  about: string;
  changed_ms: number;
  word: string;
  tone: Tone;
  headline: string;
}

/** `GET queue`, in order. */
export interface Queued {
  id: string;
  file: string;
  name: string;
  state: "waiting" | "running" | "failed";
  parameters: Record<string, string>;
  work: Work;
  /** How far an experiment or a search is; `answer`: its id among the answers. */
  progress?: { text: string; done: number; left_seconds: number; answer: string };
  /** Path of the live page, once it runs. */
  live: string | null;
  /** Why a failed one did not start. */
  problem: string | null;
}

export class HistoryClient {
  constructor(private source: HistorySource) {}

  /** Without the token, nothing can be started, noted or deleted. */
  get mayChange(): boolean {
    return this.source.token !== "";
  }
  /** The address of a live page, with the token that lets its reader steer the run. */
  watching = (path: string) => (this.mayChange ? `${path}?token=${this.source.token}` : path);

  runs = () => this.get<RunRow[]>("runs");
  tests = () => this.get<TestFile[]>("tests");
  queue = () => this.get<Queued[]>("queue");
  answers = () => this.get<AnswerRow[]>("answers");
  /** `GET runs/ID`, or `GET answers/ID/runs/ID` within an answer: the whole view. */
  view = async (id: string, within: string | null = null) =>
    checked(await this.get<ReportView>(`${within ? `answers/${encodeURIComponent(within)}/` : ""}runs/${encodeURIComponent(id)}`));
  /** `GET answers/ID`, `GET trends/TEST`, `GET ramps/ID`, `GET comparisons/BASELINE/CANDIDATE`. */
  answer = (path: string) => this.get<AnswerSource>(path);
  /** `POST queue`. Only parameters that differ from their defaults are sent. Throws {@link RefusedFields} where the test does not take some. */
  start = (file: string, parameters: Record<string, string>, work: Work) => this.change("POST", "queue", { file, parameters, work });
  /** `DELETE queue/ID`: removes what is waiting or failed, stops what is running. */
  cancel = (id: string) => this.change("DELETE", `queue/${encodeURIComponent(id)}`);
  /** `PATCH runs/ID`. */
  describe = (id: string, change: { note?: string; tags?: string[] }) => this.change("PATCH", `runs/${encodeURIComponent(id)}`, change);
  /** `DELETE runs/ID`. */
  remove = (id: string) => this.change("DELETE", `runs/${encodeURIComponent(id)}`);

  private async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.source.api}/${path}`);
    await refuseFailure(response);
    return readJson(await response.text()) as T;
  }

  private async change(method: string, path: string, body?: unknown): Promise<void> {
    const response = await fetch(`${this.source.api}/${path}`, {
      method,
      headers: { "content-type": "application/json", "x-loadstone-token": this.source.token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await refuseFailure(response);
  }
}

/** Values of a form that its test does not take: why, by the name of the parameter. */
export class RefusedFields extends Error {
  constructor(readonly fields: Record<string, string>) {
    super(Object.entries(fields).map(([name, problem]) => `${name}: ${problem}`).join("\n"));
  }
}

/** Throws what the server said about an unsuccessful request. */
async function refuseFailure(response: Response): Promise<void> {
  if (response.status === 422) throw new RefusedFields(((await response.json()) as { fields: Record<string, string> }).fields);
  if (!response.ok) throw new Error((await response.text()).trim() || `The server responded with status ${response.status}.`);
}
