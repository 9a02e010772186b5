// The source of views: a finished report receives one view, a run in progress one per second. The page draws each of them. Read `Feed` first.
// Deliberately absent: transport (`embedded.ts`, `live.ts`) and parsing (`read.ts`).

import type { ReportView, Steering } from "../generated/report";

export type Connection = "open" | "lost" | "ended";

export interface Controls {
  send(action: "pause" | "resume" | "stop" | "scale", value?: number): Promise<void>;
}

export interface Feed {
  /** Calls `onView` once or many times, and `onConnection` only if there is a connection to lose. Returns a function that stops it. */
  start(onView: (view: ReportView) => void, onConnection: (connection: Connection) => void, onSteering: (steering: Steering) => void): () => void;
  /** `null` unless the run is in progress and this page may control it. */
  controls: Controls | null;
  /** Address of the list of all runs, if this one is part of a history. */
  home: string | null;
}
