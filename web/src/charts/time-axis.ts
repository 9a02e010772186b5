// What all charts on the time axis share: the axis itself, the cursor, and the hooks for zoom and cursor. Read `TimeAxisSettings`.

import type uPlot from "uplot";
import { stepAt } from "../data/columns";
import type { Timeline } from "../generated/charts";
import type { ChartMark, Highlight, Interval } from "../state/page.svelte";
import { INK, type Theme } from "./palette";

export interface TimeAxisSettings {
  theme: Theme;
  width: number;
  height: number;
  /** Read on every redraw, because they change without a new chart. */
  now: () => { highlight: Highlight | null; marks: ChartMark[]; visible: Interval; timeline: Timeline; time: (seconds: number) => string };
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  onCursor: (seconds: number | null) => void;
}

const SYNC = "loadstone-time";

/** The options that do not depend on the values. */
export function timeOptions(settings: TimeAxisSettings): Pick<uPlot.Options, "width" | "height" | "legend" | "cursor"> {
  return {
    width: settings.width,
    height: settings.height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7, width: 2 },
      // A value applies from its second on. The legend, the dots and the keys use the same step.
      dataIdx: (_plot, _series, _closest, at) => stepAt(settings.now().timeline, at),
      drag: { x: true, y: false, setScale: false },
      // Only the position is shared; every chart reads the page's zoom itself.
      sync: { key: SYNC, setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
      bind: { dblclick: () => () => (settings.onReset(), null) },
    },
  };
}

export function timeScale(settings: TimeAxisSettings): uPlot.Scale {
  return { time: false, range: () => [...settings.now().visible] };
}

/** The look of an axis. */
export function axisStyle(theme: Theme) {
  return { stroke: INK[theme].text, font: `12px "Hanken Grotesk Variable", system-ui, sans-serif`, ticks: { show: false } };
}

export function timeAxis(settings: TimeAxisSettings): uPlot.Axis {
  return {
    ...axisStyle(settings.theme),
    size: 26,
    gap: 6,
    space: 70,
    grid: { show: false },
    incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400],
    values: (_plot, ticks) => ticks.map(settings.now().time),
  };
}

export function timeHooks(settings: TimeAxisSettings): uPlot.Hooks.Arrays {
  return {
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (width > 3) settings.onZoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    ],
    setCursor: [(plot) => settings.onCursor((plot.cursor.left ?? -1) >= 0 ? plot.posToVal(plot.cursor.left as number, "x") : null)],
  };
}
