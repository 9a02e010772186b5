// Views as JSON from any source: embedded in the page, a live run, the history. Read `checked` first.

import type { ReportView } from "../generated/report";

export class UnreadableView extends Error {}

/** A seed has 64 bits, a JavaScript number 53: long seeds are read as strings. Inside a JSON string the quotes would be escaped. */
export function readJson(text: string): unknown {
  return JSON.parse(text.replace(/"seed":(\d{16,})/, '"seed":"$1"'));
}

/** Rejects a version that this page does not know, instead of drawing it incorrectly. */
export function checked(view: ReportView): ReportView {
  if (view.version !== 1) {
    throw new UnreadableView(`This page draws reports of version 1, but this one is version ${view.version}. Recreate it with the same version of loadstone.`);
  }
  return view;
}
