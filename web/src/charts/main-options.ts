// The uPlot options of the chart at the top: two value axes, threshold lines, marks. Read `mainOptions`.

import uPlot from "uplot";
import type { MainColumn, TimeBound } from "../data/main-chart";
import { ticksInUnit } from "../format/unit";
import { drawMarks, steppedPaths } from "./options";
import { colour, faded, INK, type Theme } from "./palette";
import { type TimeAxisSettings, axisStyle, timeAxis, timeHooks, timeOptions, timeScale } from "./time-axis";

export interface MainSettings extends TimeAxisSettings {
  columns: MainColumn[];
  bounds: TimeBound[];
}

export function mainOptions(settings: MainSettings): uPlot.Options {
  const { columns, theme, bounds } = settings;
  const ink = INK[theme];
  const shared = axisStyle(theme);
  const axisWidth = settings.width < 480 ? 50 : 64;
  const highest = bounds.reduce((high, bound) => Math.max(high, bound.seconds), 0);
  return {
    ...timeOptions(settings),
    padding: [8, 0, 0, 0],
    scales: {
      x: timeScale(settings),
      // A threshold far above the times would flatten them.
      s: { range: (_plot, _low, high) => [0, (high > 0 ? Math.max(high, highest <= 4 * high ? highest : 0) : Math.max(highest, 1)) * 1.08] },
      rate: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      timeAxis(settings),
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
        ...(column.pools ? { paths: steppedPaths } : {}),
      };
    })],
    hooks: {
      drawClear: [(plot) => drawInterval(plot, settings, theme)],
      draw: [(plot) => drawBounds(plot, bounds, theme), (plot) => drawMarks(plot, settings.now().marks.filter((mark) => mark.kind === "finding"), theme)],
      ...timeHooks(settings),
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
  ctx.strokeStyle = INK[theme].bound;
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
