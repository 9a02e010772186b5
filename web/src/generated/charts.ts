// The types of the crates, field for field. A test of the crates writes this file: see web/README.md.

/** The signals of one observer. */
export interface Band {
  observer: string;
  panels: Array<Panel>;
}

/** One line of a chart: a value per step of the timeline, `None` where there is none. */
export interface ChartColumn {
  /** Unique on the page. Findings refer to it: `rate/asked`, `response/p99`, `signal/process:8080/cpu`. docs/timeline.md lists all ids. */
  id: string;
  label: string;
  values: Array<number | null>;
  /** For percentiles of seconds with too few samples: they are pooled, and each pool has one value. The pools cover the column. */
  pools?: Array<Pool>;
}

/** A part of the run at full resolution, for a page that is zoomed in. */
export interface CloseUp {
  /** The second of the run at which it begins. Each value of its columns covers one second. */
  from_seconds: number;
  /** Panels of the timeline, by id, and of the signals that the summary shows. */
  panels: Array<Panel>;
}

/** The requests' own series that one piece of evidence names. Empty if its series are those of the whole run, which the timeline has. */
export interface EvidenceCharts {
  step_seconds: number;
  /** One for each unit. */
  panels: Array<Panel>;
  /** Distribution of the requests' response times, like that of the view, if the evidence marks times in it. */
  distribution?: Array<[number, number, number]>;
}

/** The heat map of response times: counts per time step and logarithmic response-time bin. */
export interface HeatMap {
  /** Lower edges of the bins, seconds, ascending; the last entry is the upper edge of the last bin. */
  edges: Array<number>;
  /** One list per time step: `[bin, count, bin, count, …]`, empty bins left out. */
  steps: Array<Array<number>>;
}

export type MarkKind = "leaf_began" | "leaf_ended" | "load_ended" | "drained" | "stage" | "adjusted" | "warning" | "stopped";

export interface MarkView {
  at_seconds: number;
  kind: MarkKind;
  text: string;
}

/** One chart on the shared time axis. */
export interface Panel {
  /**
   * `rate`, `response`, `users`, `in_flight`, `failures`, `phases`, `bytes`, `flow/NAME`, `generator`, `generator_lag`. For a signal: `signal/`
   * and its name without the label.
   */
  id: string;
  title: string;
  /** `s` (times, drawn in fitting units), `/s`, `users`, `bytes`, `bytes/s`, `share`, `1`, or the unit of a signal. */
  unit: string;
  /** Draw the columns as a stacked area. */
  stacked: boolean;
  columns: Array<ChartColumn>;
}

/** Neighbouring steps that have one value together. */
export interface Pool {
  seconds: number;
  samples: number;
}

/** Everything that varies over time, on one axis. */
export interface Timeline {
  /** Start of each step, seconds since the run began. */
  seconds: Array<number>;
  /** Length of a step; 1 unless a long run was downsampled. */
  step_seconds: number;
  panels: Array<Panel>;
  heat: HeatMap;
  bands: Array<Band>;
  marks: Array<MarkView>;
  /** Parts of the run in steps of one second, if the timeline's steps are longer. Finished runs only. */
  close_ups?: Array<CloseUp>;
}
