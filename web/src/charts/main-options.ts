// The uPlot options of the chart at the top: two value axes, threshold lines, marks. Read `mainOptions`.

import uPlot from "uplot";
import { stepAt } from "../data/columns";
import type { MainColumn, TimeBound } from "../data/main-chart";
import { clock, ticksInUnit } from "../format/unit";
import type { Timeline } from "../generated/report";
import type { ChartMark, Highlight, Interval } from "../state/page.svelte";
import { drawMarks, steppedPaths, SYNC } from "./options";
import { colour, faded, INK, type Theme } from "./palette";

export interface MainSettings {
  columns: MainColumn[];
  bounds: TimeBound[];
  theme: Theme;
  width: number;
  height: number;
  now: () => { marks: ChartMark[]; visible: Interval; timeline: Timeline; highlight: Highlight | null };
  onZoom: (from: number, to: number) => void;
  onReset: () => void;
  onCursor: (seconds: number | null) => void;
}

export function mainOptions(settings: MainSettings): uPlot.Options {
  const { columns, theme, bounds } = settings;
  const ink = INK[theme];
  const shared = { stroke: ink.text, font: `12px "Hanken Grotesk Variable", system-ui, sans-serif`, ticks: { show: false } };
  const axisWidth = settings.width < 480 ? 50 : 64;
  const highest = bounds.reduce((high, bound) => Math.max(high, bound.seconds), 0);
  return {
    width: settings.width,
    height: settings.height,
    padding: [8, 0, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7, width: 2 },
      dataIdx: (_plot, _series, _closest, at) => stepAt(settings.now().timeline, at),
      drag: { x: true, y: false, setScale: false },
      sync: { key: SYNC, setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
      bind: { dblclick: () => () => (settings.onReset(), null) },
    },
    scales: {
      x: { time: false, range: () => [...settings.now().visible] },
      // A threshold far above the times would flatten them.
      s: { range: (_plot, _low, high) => [0, (high > 0 ? Math.max(high, highest <= 4 * high ? highest : 0) : Math.max(highest, 1)) * 1.08] },
      rate: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      {
        ...shared, size: 26, gap: 6, space: 70, grid: { show: false },
        incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400],
        values: (_plot, ticks) => ticks.map(clock),
      },
      { ...shared, scale: "s", size: axisWidth, gap: 8, space: 34, grid: { stroke: ink.grid, width: 1 }, values: (_plot, ticks) => ticksInUnit(ticks, "s") },
      { ...shared, scale: "rate", side: 1, size: axisWidth, gap: 8, space: 34, grid: { show: false }, values: (_plot, ticks) => ticksInUnit(ticks, "/s") },
    ],
    series: [{}, ...columns.map(({ column, unit }): uPlot.Series => {
      const base = colour(column.id, 0, theme);
      const isFailures = column.id === "rate/failures";
      return {
        scale: unit === "s" ? "s" : "rate",
        stroke: base,
        width: 1.75,
        points: { show: false },
        ...(column.id.endsWith("/asked") ? { dash: [6, 5] } : {}),
        ...(isFailures ? { fill: faded(base, 0.35) } : {}),
        ...(column.pool ? { paths: steppedPaths } : {}),
      };
    })],
    hooks: {
      drawClear: [(plot) => drawInterval(plot, settings, theme)],
      draw: [(plot) => drawBounds(plot, bounds, theme), (plot) => drawMarks(plot, settings.now().marks.filter((mark) => mark.kind === "finding"), theme)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width > 3) settings.onZoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setCursor: [(plot) => settings.onCursor((plot.cursor.left ?? -1) >= 0 ? plot.posToVal(plot.cursor.left as number, "x") : null)],
    },
  };
}

function drawInterval(plot: uPlot, settings: MainSettings, theme: Theme): void {
  const { highlight, visible } = settings.now();
  if (!highlight || highlight.to < visible[0] || highlight.from > visible[1]) return;
  const left = plot.valToPos(Math.max(highlight.from, visible[0]), "x", true);
  const right = plot.valToPos(Math.min(highlight.to, visible[1]), "x", true);
  plot.ctx.fillStyle = INK[theme].highlight;
  plot.ctx.fillRect(left, plot.bbox.top, right - left, plot.bbox.height);
}

function drawBounds(plot: uPlot, bounds: TimeBound[], theme: Theme): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = theme === "light" ? "#b0301c" : "#ff917d";
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { seconds } of bounds) {
    const y = plot.valToPos(seconds, "s", true);
    if (y < bbox.top) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}
