// The data that the server inserts into the page: one view, or a description of the source of views. Read `feedOf` first.

import type { AnswerSource } from "../answers/source";
import type { HistorySource, LiveSource, ReportView } from "../generated/report";
import type { Feed } from "./feed";
import { liveFeed } from "./live";
import { checked, readJson, UnreadableView } from "./read";

/** What the embedded JSON requests: one run to draw, an answer that rests on several runs, or a history to choose from. */
export function feedOf(text: string): Feed | HistorySource | AnswerSource {
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

function parse(text: string): ReportView | LiveSource | HistorySource | AnswerSource {
  try {
    return readJson(text) as ReportView | LiveSource | HistorySource | AnswerSource;
  } catch {
    throw new UnreadableView("This page contains no run: its data is missing or damaged. Recreate it with `loadstone report`.");
  }
}
