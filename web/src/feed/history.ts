// The history of a folder, as `loadstone ui` serves it: its tests, the queue of runs, the finished runs. Read `HistoryClient` first. Paths are below
// `api`. Every request that changes something carries the token.

import type { AnswerSource } from "../answers/source";
import type { HistorySource, ReportView, RunRow } from "../generated/report";
import type { AnswerRow, OrderedWork, QueueRow, RefusedFields, RefusedWork, TestFile } from "../generated/ui";
import { checked, readJson } from "./read";

export class HistoryClient {
  constructor(private source: HistorySource) {}

  /** Without the token, nothing can be started, noted or deleted. */
  get mayChange(): boolean {
    return this.source.token !== "";
  }
  /** The address of a live page, with the token that lets its reader control the run. */
  watching = (path: string) => (this.mayChange ? `${path}?token=${this.source.token}` : path);

  runs = () => this.get<RunRow[]>("runs");
  tests = () => this.get<TestFile[]>("tests");
  queue = () => this.get<QueueRow[]>("queue");
  answers = () => this.get<AnswerRow[]>("answers");
  /** `GET runs/ID`, or `GET answers/ID/runs/ID` within an answer: the whole view. */
  view = async (id: string, within: string | null = null) =>
    checked(await this.get<ReportView>(`${within ? `answers/${encodeURIComponent(within)}/` : ""}runs/${encodeURIComponent(id)}`));
  /** `GET answers/ID`, `GET trends/TEST`, `GET ramps/ID`, `GET comparisons/BASELINE/CANDIDATE`. */
  answer = (path: string) => this.get<AnswerSource>(path);
  /** `POST queue`. Only parameters that differ from their defaults are sent. Throws {@link FieldError} if the test rejects some of them. */
  start = (file: string, parameters: Record<string, string>, work: OrderedWork) => this.change("POST", "queue", { file, parameters, work });
  /** `POST tests`: creates the first test of the folder, as `loadstone init` does. */
  createFirstTest = (target: string) => this.change("POST", "tests", { target });
  /** `DELETE queue/ID`: removes a waiting or failed entry, stops a running one. */
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

/** Form values that the test or the command rejects: the reason for each parameter, and for one field of the work. */
export class FieldError extends Error {
  readonly fields: Record<string, string>;
  readonly work: RefusedWork | null;
  constructor({ fields, work }: RefusedFields) {
    super([...Object.entries(fields).map(([name, problem]) => `${name}: ${problem}`), ...(work ? [work.why] : [])].join("\n"));
    this.fields = fields;
    this.work = work ?? null;
  }
}

/** Throws the error that the server returned. */
async function refuseFailure(response: Response): Promise<void> {
  if (response.status === 422) throw new FieldError((await response.json()) as RefusedFields);
  if (!response.ok) throw new Error((await response.text()).trim() || `The server responded with status ${response.status}.`);
}
