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
