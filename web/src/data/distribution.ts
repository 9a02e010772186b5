// The distribution of response times as bars and as the curve of its percentiles.

export type DistributionBar = [from: number, to: number, count: number];

export interface CurvePoint {
  /** 1 / (1 − quantile): 2 at p50, 100 at p99. The axis is logarithmic in it. */
  x: number;
  seconds: number;
}

/** Response time at each bin's cumulative share. It ends where less than one sample would be beyond: at the last bin the quantile would be
 * 1, and the curve would reach infinity. */
export function curve(bars: readonly DistributionBar[]): CurvePoint[] {
  const total = bars.reduce((sum, [, , count]) => sum + count, 0);
  const points: CurvePoint[] = [];
  let seen = 0;
  for (const [from, to, count] of bars) {
    if (count === 0) continue;
    // No samples so far: over empty bins the curve is vertical.
    points.push({ x: total / Math.max(1, total - seen), seconds: from });
    seen += count;
    points.push({ x: total / Math.max(1, total - seen), seconds: to });
  }
  return points;
}

/** Powers of ten inside a range, with 2 and 5 (or 3) in between if there are few. */
export function decades(low: number, high: number): number[] {
  if (!(low > 0) || !(high > low)) return [];
  const wide = Math.log10(high / low) > 3;
  const steps = wide ? [1] : Math.log10(high / low) > 1.2 ? [1, 3] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) {
      const tick = Number((step * 10 ** power).toPrecision(3));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

export interface LaneLabel {
  at: number;
  /** The label ends at its line instead of beginning there. */
  left: boolean;
  /** 0 is the highest. */
  lane: number;
}

/**
 * Places the labels of vertical lines. A line begins at the height of its label and ends at the bottom, so it crosses labels that are lower. Of all choices
 * of sides, the one with the fewest overlaps and the fewest lanes. `lines`: positions from left to right. `label`: width of the longest label.
 */
export function lanes(lines: readonly number[], width: number, label: number): LaneLabel[] {
  const choices = Array.from({ length: 2 ** lines.length }, (_, bits) => lines.map((_, i) => (bits & (2 ** i)) !== 0));
  const possible = choices.filter((lefts) => lines.every((at, i) => (lefts[i] ? at >= label : at + label <= width)));
  const all = (possible.length > 0 ? possible : choices).map((lefts) => placed(lines, lefts, label));
  const cost = (labels: LaneLabel[]) => 100 * conflicts(labels, label) + Math.max(0, ...labels.map((one) => one.lane));
  return all.reduce((best, labels) => (cost(labels) < cost(best) ? labels : best));
}

/** Each label takes the highest free lane. Labels to the right of their lines descend from left to right, the others from right to left. */
function placed(lines: readonly number[], lefts: readonly boolean[], width: number): LaneLabel[] {
  const labels = lines.map((at, i) => ({ at, left: lefts[i]!, lane: 0 }));
  const done: LaneLabel[] = [];
  for (const label of [...labels.filter((one) => !one.left), ...labels.filter((one) => one.left).toReversed()]) {
    const free = lines.findIndex((_, lane) => conflicts([...done, { ...label, lane }], width) === conflicts(done, width));
    label.lane = Math.max(free, 0);
    done.push(label);
  }
  return labels;
}

/** Number of labels that cover another one or are crossed by its line. */
function conflicts(labels: readonly LaneLabel[], width: number): number {
  const isOver = (a: LaneLabel, b: LaneLabel) => {
    const [from, to] = b.left ? [b.at - width, b.at] : [b.at, b.at + width];
    const start = a.left ? a.at - width : a.at;
    const covers = a.lane === b.lane && start < to && from < start + width;
    return covers || (a.lane < b.lane && from < a.at && a.at < to);
  };
  return labels.flatMap((a) => labels.filter((b) => a !== b && isOver(a, b))).length;
}
