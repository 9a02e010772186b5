// Where views come from. The page draws whatever arrives; a finished report gets one view, a live run one a second.

import type { ReportView } from "../view";
import type { HistorySource } from "./history";
import { liveFeed } from "./live";

/** What a server puts into the page instead of a view, to say that views come over the wire. */
export interface LiveSource {
  feed: "live";
  /** Paths on the page's own origin. */
  events: string;
  control: string;
  /** Proves to the server that whoever steers the run was given its address; empty when not. */
  token: string;
  /** Where all runs are listed, when this one is part of a history. */
  home?: string;
}

export type Connection = "open" | "lost" | "ended";

/** How the run stands after what was asked of it; `scale` is what the load is multiplied by while it is not paused. */
export interface Steering {
  paused: boolean;
  scale: number;
}

export interface Controls {
  send(action: "pause" | "resume" | "stop" | "scale", value?: number): Promise<void>;
}

export interface Feed {
  /** `onView` is called once or many times; `onConnection` only where there is one to lose. Returns how to stop. */
  start(onView: (view: ReportView) => void, onConnection: (connection: Connection) => void, onSteering: (steering: Steering) => void): () => void;
  /** Only a run that is under way can be steered. */
  controls: Controls | null;
  /** Where all runs are listed, when this one is part of a history. */
  home: string | null;
}

export class UnreadableView extends Error {}

/** What the page's embedded JSON asks for: one run to draw, or a history to choose from. */
export function feedOf(text: string): Feed | HistorySource {
  const embedded = parse(text);
  if ("feed" in embedded) return embedded.feed === "live" ? liveFeed(embedded) : embedded;
  const view = checked(embedded);
  return {
    controls: null,
    home: null,
    start(onView) {
      onView(view);
      return () => {};
    },
  };
}

function parse(text: string): ReportView | LiveSource | HistorySource {
  try {
    return readJson(text) as ReportView | LiveSource | HistorySource;
  } catch {
    throw new UnreadableView("This page holds no run: its data is missing or damaged. Make it again with `loadstone report`.");
  }
}

/** A seed has 64 bits, a JavaScript number 53: long ones are read as text. Inside a JSON string the quotes would be escaped. */
export function readJson(text: string): unknown {
  return JSON.parse(text.replace(/"seed":(\d{16,})/, '"seed":"$1"'));
}

/** Refuses a schema that this page does not know, rather than drawing it wrongly. */
export function checked(view: ReportView): ReportView {
  if (view.version !== 1) throw new UnreadableView(`This page draws views of version 1, and was given version ${view.version}. Make it again with one version of loadstone.`);
  return view;
}
