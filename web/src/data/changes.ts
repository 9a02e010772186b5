// Changes at an instant while the load was constant: which of them are drawn, and in which words.

import { count, seconds, share } from "../format/number";
import { clock, inUnit } from "../format/unit";
import type { ReportView } from "../generated/report";
import type { ChangeRow } from "../generated/summary";
import { find } from "./columns";

/** The changes of one request, by its name; all changes if none is selected. In order of time. */
export function changesOf(view: ReportView, request: string | null): ChangeRow[] {
  const shown = view.summary.changes.filter((change) => request === null || (change.of === "request" && change.name === request));
  return shown.toSorted((a, b) => a.at_seconds - b.at_seconds);
}

/** `List: p50 12.0 ms → 412 ms`. */
export function changeInWords(view: ReportView, change: ChangeRow): string {
  const [what, written] = metric(view, change);
  const until = change.until_seconds === null ? "" : ` until ${clock(change.until_seconds)}`;
  return `${change.name}: ${what}${written(change.before)} → ${written(change.after)}${until}`;
}

function metric(view: ReportView, { metric, name }: ChangeRow): [what: string, written: (value: number) => string] {
  switch (metric) {
    case "service.p50": return ["p50 ", seconds];
    case "service.mean": return ["mean ", seconds];
    case "failures.share": return ["failed ", share];
    default: {
      const unit = view.summary.signals.find((signal) => signal.name === name)?.unit ?? find(view.timeline, [name])[0]?.panel.unit ?? "1";
      return ["", (value) => inUnit(value, unit)];
    }
  }
}

/** The precision of a change: `Known to ± 1.00 s, from 2,000 samples before and 4,000 after`. */
export function changeIsKnown({ at_error_seconds, samples_before, samples_after }: ChangeRow): string {
  const samples = `from ${count(samples_before)} samples before and ${count(samples_after)} after`;
  return at_error_seconds > 0 ? `Known to ± ${seconds(at_error_seconds)}, ${samples}` : `Known ${samples}`;
}
