// The heat map of response times, behind the lines of the response panel.

import type uPlot from "uplot";
import type { HeatMap, Timeline } from "../generated/charts";
import { heat as heatColour, type Theme } from "./palette";

/** Strength of a cell, 0 to 1. The square root separates the many small counts without hiding the few large ones. */
export function strength(count: number, largest: number): number {
  return largest > 0 ? Math.sqrt(count / largest) : 0;
}

export function largestCount(heat: HeatMap): number {
  return heat.steps.reduce((largest, step) => step.reduce((most, value, i) => (i % 2 === 1 && value > most ? value : most), largest), 0);
}

export function drawHeat(plot: uPlot, timeline: Timeline, theme: Theme): void {
  const { heat } = timeline;
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales.x as { min: number; max: number };
  const largest = largestCount(heat);
  const tops = heat.edges.map((edge) => plot.valToPos(edge, "y", true));
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  heat.steps.forEach((step, index) => {
    const from = timeline.seconds[index];
    if (from === undefined || from + timeline.step_seconds < min || from > max) return;
    const left = Math.floor(plot.valToPos(from, "x", true));
    const right = Math.ceil(plot.valToPos(from + timeline.step_seconds, "x", true));
    for (let i = 0; i + 1 < step.length; i += 2) {
      const [bin, count] = [step[i] as number, step[i + 1] as number];
      const [bottom, top] = [tops[bin], tops[bin + 1]];
      if (bottom === undefined || top === undefined) continue;
      ctx.fillStyle = heatColour(strength(count, largest), theme);
      ctx.fillRect(left, Math.floor(top), right - left, Math.ceil(bottom) - Math.floor(top));
    }
  });
  ctx.restore();
}
