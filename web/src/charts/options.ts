// The uPlot options of a chart on the time axis: scales, axes, series, and the hooks that draw marks, heat and highlight. Read `plotOptions` first.
// Deliberately absent: Svelte, and any state.

import uPlot from "uplot";
import { ticksInUnit } from "../format/unit";
import { OTHER } from "../data/overlay";
import { ranges } from "../data/ranges";
import type { ChartColumn, HeatMap, Panel } from "../generated/charts";
import { type ChartMark, names } from "../state/page.svelte";
import { drawHeat } from "./heat";
import { colour, faded, INK, type Theme } from "./palette";
import { type TimeAxisSettings, axisStyle, timeAxis, timeHooks, timeOptions, timeScale } from "./time-axis";

export interface ChartSettings extends TimeAxisSettings {
  panel: Panel;
  /** Width of the value axis. It is the same on all charts, so that their times align. */
  axisWidth: number;
  logarithmic: boolean;
  /** No time labels, and as few value labels as possible. */
  lane: boolean;
  /** Draw the timeline's heat map behind the lines. */
  heat: boolean;
  hidden: ReadonlySet<string>;
}

/** Space for half of the last time label. The overview uses the same. */
const RIGHT = 20;

const OTHER_DASHES = [[1, 3], [6, 3], [10, 3, 2, 3]];

export const steppedPaths = uPlot.paths.stepped!({ align: 1 });

export function plotOptions(settings: ChartSettings): uPlot.Options {
  const { panel, theme } = settings;
  return {
    ...timeOptions(settings),
    padding: [8, RIGHT, settings.lane ? 8 : 0, 0],
    scales: { x: timeScale(settings), y: valueScale(settings) },
    axes: axes(settings),
    series: [{}, ...panel.columns.map((column, index) => series(settings, column.id, index))],
    bands: panel.stacked ? panel.columns.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) : rangeBands(settings),
    hooks: {
      drawClear: [(plot) => drawHighlight(plot, settings, theme)],
      drawAxes: settings.heat ? [(plot) => drawHeat(plot, settings.now().timeline, theme)] : [],
      draw: [(plot) => drawMarks(plot, settings.now().marks, theme)],
      ...timeHooks(settings),
    },
  };
}

function valueScale(settings: ChartSettings): uPlot.Scale {
  if (settings.heat) {
    return { distr: 3, log: 10, range: () => heatRange(settings.now().timeline.heat) };
  }
  if (settings.logarithmic) {
    return { distr: 3, log: 10, range: (_, low, high) => (low > 0 && high > 0 ? [low / 1.2, Math.max(high * 1.2, low * 2)] : [0.001, 1]) };
  }
  return {
    // Times, rates and shares are compared with zero. A chart without zero exaggerates.
    range: (_, low, high) => {
      const top = high > 0 ? high * 1.06 : 1;
      return [Math.min(0, low ?? 0), settings.panel.unit === "share" && top > 0.9 ? Math.max(1, top) : top];
    },
  };
}

function heatRange(heat: HeatMap): [number, number] {
  const bins = heat.steps.flatMap((step) => step.filter((_, i) => i % 2 === 0));
  if (bins.length === 0) return [0.001, 1];
  const [low, high] = bins.reduce(([a, b], bin) => [Math.min(a, bin), Math.max(b, bin)], [Infinity, 0]);
  return [heat.edges[low] as number, heat.edges[high + 1] ?? (heat.edges[high] as number) * 1.25];
}

function axes(settings: ChartSettings): uPlot.Axis[] {
  const ink = INK[settings.theme];
  const shared = { ...axisStyle(settings.theme), grid: { stroke: ink.grid, width: 1 } };
  const logarithmic = settings.logarithmic || settings.heat;
  return [
    { ...timeAxis(settings), ...(settings.lane ? { size: 0, show: false } : {}) },
    {
      ...shared,
      size: settings.axisWidth,
      gap: 8,
      space: settings.lane ? 22 : settings.height < 140 ? 26 : 34,
      grid: { ...shared.grid, ...(logarithmic ? { filter: (_: uPlot, ticks: number[]) => ticks.map((tick) => (isDecade(tick) ? tick : null)) } : {}) },
      values: (_, ticks) => (logarithmic ? logTicks(ticks, settings) : ticksInUnit(ticks, settings.panel.unit)),
    },
  ];
}

/** Only powers of ten are labelled. */
function logTicks(ticks: number[], settings: ChartSettings): (string | null)[] {
  return ticks.map((tick) => (isDecade(tick) ? (ticksInUnit([tick], settings.panel.unit)[0] ?? null) : null));
}

function isDecade(tick: number | null): boolean {
  return tick !== null && tick > 0 && Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-6;
}

/** The area between a line's lowest and highest values, in the line's colour. */
function rangeBands({ panel, theme }: ChartSettings): uPlot.Band[] {
  return ranges(panel).map(({ of, min, max }) => ({
    series: [max + 1, min + 1] as [number, number],
    fill: faded(colour((panel.columns[of] as ChartColumn).id, of, theme), 0.18),
  }));
}

function series(settings: ChartSettings, id: string, index: number): uPlot.Series {
  const { panel, theme } = settings;
  const range = ranges(panel).find(({ min, max }) => index === min || index === max);
  if (range) return { show: !settings.hidden.has(panel.columns[range.of]!.id), scale: "y", width: 0, points: { show: false } };
  const base = colour(id, index, theme);
  const strength = () => {
    const { highlight } = settings.now();
    return !highlight || !panel.columns.some((column) => names(highlight, column.id)) || names(highlight, id) ? 1 : 0.22;
  };
  // On top of the heat map, fewer lines are easier to read.
  const isLeftOut = settings.heat && !/\/(p50|p95|p99)$/.test(id);
  const isAsked = id.endsWith("/asked");
  const isOther = id.startsWith(OTHER);
  const isSide = isAsked || /\/max$/.test(id);
  return {
    show: !settings.hidden.has(id) && !isLeftOut,
    scale: "y",
    stroke: () => faded(base, strength()),
    width: panel.stacked ? 1 : isAsked ? 2 : isSide || isOther ? 1.25 : 1.75,
    ...(isAsked ? { dash: [6, 5] } : isOther ? { dash: OTHER_DASHES[index % OTHER_DASHES.length]! } : {}),
    ...(panel.stacked ? { fill: () => faded(base, 0.55 * strength()) } : {}),
    points: { show: true, size: 4, width: 0, fill: () => faded(base, strength()), filter: (plot, index) => alone(plot.data[index] ?? []) },
    spanGaps: false,
    // A pool of seconds is one bar.
    ...(panel.columns[index]?.pools ? { paths: steppedPaths } : {}),
  };
}

/** Values with a gap on both sides, which a line alone would not show. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) found.push(i);
  }
  return found;
}

function drawHighlight(plot: uPlot, settings: ChartSettings, theme: Theme): void {
  const { highlight, visible } = settings.now();
  if (!highlight || highlight.to < visible[0] || highlight.from > visible[1]) return;
  const { ctx, bbox } = plot;
  const left = plot.valToPos(Math.max(highlight.from, visible[0]), "x", true);
  const right = plot.valToPos(Math.min(highlight.to, visible[1]), "x", true);
  const concerned = settings.panel.columns.some((column) => names(highlight, column.id));
  ctx.save();
  ctx.fillStyle = INK[theme].highlight;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  if (concerned) {
    ctx.fillStyle = INK[theme].highlightEdge;
    ctx.fillRect(left, bbox.top, right - left, 2 * devicePixelRatio);
  }
  ctx.restore();
}

export function drawMarks(plot: uPlot, marks: ChartMark[], theme: Theme): void {
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x as { min: number; max: number };
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  for (const mark of marks) {
    if (mark.at_seconds < min || mark.at_seconds > max) continue;
    ctx.setLineDash(mark.kind === "change" ? [] : [2 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.strokeStyle = markColour(mark, theme);
    const x = Math.round(plot.valToPos(mark.at_seconds, "x", true)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (mark.label) drawLabel(ctx, mark.label, x, bbox.top, theme);
    if (mark.kind === "change") drawArrow(ctx, mark.rises === true, x, bbox.top + bbox.height, theme);
  }
  ctx.restore();
}

function markColour({ kind }: ChartMark, theme: Theme): string {
  const ink = INK[theme];
  if (kind === "finding" || kind === "change") return ink[kind];
  return kind === "warning" || kind === "stopped" ? ink.warning : ink.mark;
}

/** The direction of a change, at the foot of its line: at the top, the number of a finding would cover it. */
function drawArrow(ctx: CanvasRenderingContext2D, rises: boolean, x: number, bottom: number, theme: Theme): void {
  const half = 4.5 * devicePixelRatio;
  const [tip, base] = rises ? [bottom - 2 * half, bottom] : [bottom, bottom - 2 * half];
  ctx.fillStyle = INK[theme].change;
  ctx.beginPath();
  ctx.moveTo(x, tip);
  ctx.lineTo(x - half, base);
  ctx.lineTo(x + half, base);
  ctx.fill();
}

/** The number of a finding, in a disc at the top of its line. */
function drawLabel(ctx: CanvasRenderingContext2D, label: string, x: number, top: number, theme: Theme): void {
  const radius = 7 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = INK[theme].finding;
  ctx.beginPath();
  ctx.arc(x, top + radius, radius, 0, 2 * Math.PI);
  ctx.fill();
  ctx.fillStyle = INK[theme].paper;
  ctx.font = `600 ${10 * devicePixelRatio}px "Hanken Grotesk Variable", system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(label, x, top + radius);
  ctx.restore();
}
