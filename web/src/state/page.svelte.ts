// The state that the parts of the page share: the view, the visible interval, the cursor, the highlight. Deliberately absent: anything computed from
// the view, which is in data/.

import { getContext, setContext } from "svelte";
import { changeInWords, changesOf } from "../data/changes";
import { closeUpAt } from "../data/close-up";
import { speaksOf } from "../data/evidence";
import { timeOf, type TimeBase } from "../format/unit";
import type { MarkView, Timeline } from "../generated/charts";
import type { ReportView, SeriesKey } from "../generated/report";
import type { ChangeRow, RequestRow } from "../generated/summary";
import type { Evidence } from "../generated/verdict";

export type Interval = readonly [from: number, to: number];

/** Series and interval to highlight on every chart. */
export interface Highlight {
  label: string;
  series: string[];
  from: number;
  to: number;
}

/** A line on every chart. */
export interface ChartMark {
  at_seconds: number;
  kind: MarkView["kind"] | "finding" | "change";
  text: string;
  /** Text at the top of the line; empty for most. */
  label: string;
  /** For a change: whether the value increased. */
  rises?: boolean;
}

export class Page {
  view: ReportView = $state.raw(undefined as unknown as ReportView);
  /** Visible interval of all charts, seconds; `null` for the whole run. */
  zoom: Interval | null = $state.raw(null);
  /** Position of the pointer on the time axis, seconds. */
  cursor: number | null = $state(null);
  pinned: Highlight | null = $state.raw(null);
  pointed: Highlight | null = $state.raw(null);

  timeBase: TimeBase = $state("run");
  /** A position on the time axis, in words. */
  time = (atSeconds: number): string => timeOf(atSeconds, this.timeBase, this.view.test.started);

  /** The request whose charts are shown instead of those of all requests, as a key from `rowKey`. */
  picked: string | null = $state(null);

  /** Its row in the table; `null` if all requests are shown. */
  pickedRow: number | null = $derived.by(() => {
    const row = this.picked === null ? -1 : this.view.summary.requests.findIndex((row) => rowKey(row) === this.picked);
    return row < 0 ? null : row;
  });

  /** The requests that have charts. */
  drawable: RequestRow[] = $derived.by(() => {
    const { summary, request_charts: charts } = this.view;
    return summary.requests.filter((_, index) => (charts[index]?.panels.length ?? 0) > 0);
  });

  /** The address of an experiment that would prove a finding, by its number; `null` if this page starts none. */
  prove: ((finding: number) => string) | null = $state.raw(null);

  highlight = $derived(this.pointed ?? this.pinned);
  /** The changes; only those of the selected request, if there is one. */
  changes: ChangeRow[] = $derived.by(() => {
    const row = this.picked === null ? undefined : this.view.summary.requests.find((row) => rowKey(row) === this.picked);
    return changesOf(this.view, row?.name ?? null);
  });
  /** Events, changes and findings, each at its instant. */
  marks: ChartMark[] = $derived.by(() => [
    ...this.view.timeline.marks.map((mark) => ({ ...mark, label: "" })),
    ...this.changes.map((change) => changeMark(this.view, change)),
    ...findingMarks(this.view),
  ]);
  /** The whole time axis, to the end of the last step. */
  whole: Interval = $derived.by(() => {
    const { seconds, step_seconds } = this.view.timeline;
    return [0, Math.max((seconds.at(-1) ?? 0) + step_seconds, 1)];
  });
  visible: Interval = $derived(this.zoom ?? this.whole);
  /** The visible interval in seconds, if the timeline is coarser and these seconds were stored. */
  closeUp: Timeline | null = $derived(this.zoom && closeUpAt(this.view.timeline, ...this.zoom));

  constructor(view: ReportView) {
    this.view = view;
  }

  /** Shows an interval on all charts. It is within the run and at least two steps long. */
  show(from: number, to: number): void {
    const [start, end] = this.whole;
    const { timeline } = this.view;
    const step = closeUpAt(timeline, Math.min(from, to), Math.max(from, to)) ? 1 : timeline.step_seconds;
    const shortest = Math.min(end - start, 2 * step);
    let low = Math.max(start, Math.min(from, to));
    let high = Math.min(end, Math.max(from, to));
    if (high - low < shortest) {
      low = Math.max(start, Math.min((low + high - shortest) / 2, end - shortest));
      high = low + shortest;
    }
    this.zoom = low <= start && high >= end ? null : [low, high];
  }

  /** Shows an interval, and moves to the charts. */
  showOnCharts(from: number, to: number): void {
    this.show(from, to);
    document.getElementById("charts")?.scrollIntoView();
  }

  showAll(): void {
    this.zoom = null;
  }
}

function changeMark(view: ReportView, change: ChangeRow): ChartMark {
  return { at_seconds: change.at_seconds, kind: "change", text: changeInWords(view, change), label: "", rises: change.after > change.before };
}

/** Marks of findings have the numbers of the findings. A finding that applies from the start has no mark. */
function findingMarks(view: ReportView): ChartMark[] {
  return view.summary.verdict.findings.findings.flatMap((finding, index) => {
    const at_seconds = finding.evidence[0]?.from_seconds ?? 0;
    return at_seconds >= 1 ? [{ at_seconds, kind: "finding" as const, text: finding.claim, label: `${index + 1}` }] : [];
  });
}

/** Identifies one row of the table of requests. */
export function rowKey(row: SeriesKey): string {
  return `${row.kind}/${row.scenario}/${row.group ?? ""}/${row.name}`;
}

export function highlightOf(evidence: Evidence, label: string): Highlight {
  return { label, series: evidence.series, from: evidence.from_seconds, to: evidence.to_seconds };
}

/** All evidence of a finding at once. */
export function highlightOfAll(evidence: Evidence[], label: string): Highlight {
  return {
    label,
    series: [...new Set(evidence.flatMap((one) => one.series))],
    from: Math.min(...evidence.map((one) => one.from_seconds)),
    to: Math.max(...evidence.map((one) => one.to_seconds)),
  };
}

export function names(highlight: Highlight, columnId: string): boolean {
  return highlight.series.some((name) => speaksOf(name, columnId));
}

const KEY = Symbol("page");

export function providePage(page: Page): Page {
  return setContext(KEY, page);
}

export function usePage(): Page {
  return getContext(KEY);
}
