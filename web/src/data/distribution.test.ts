import { expect, test } from "vitest";
import { lanes } from "./distribution";

test("no line of a percentile runs through the label of another one", () => {
  const LABEL = 76;
  // Three percentiles everywhere on a phone and on a wide screen.
  for (const width of [330, 560]) {
    for (let p50 = 5; p50 < width; p50 += 37) {
      for (let p95 = p50 + 7; p95 < width; p95 += 37) {
        for (let p99 = p95 + 7; p99 < width; p99 += 37) {
          const boxes = lanes([p50, p95, p99], width, LABEL).map((one) => ({ ...one, from: one.left ? one.at - LABEL : one.at }));
          for (const upper of boxes) {
            expect(upper.from >= 0 && upper.from + LABEL <= width && upper.lane < 3, `${width}: ${[p50, p95, p99]}`).toBe(true);
            for (const other of boxes.filter((one) => one !== upper && one.lane >= upper.lane)) {
              const isAbove = other.lane > upper.lane;
              const isCrossed = isAbove && other.from < upper.at && upper.at < other.from + LABEL;
              const isCovered = !isAbove && Math.abs(other.from - upper.from) < LABEL;
              expect(isCrossed || isCovered, `${width}: ${[p50, p95, p99]}`).toBe(false);
            }
          }
        }
      }
    }
  }
});

test("labels with room are on one line, to the right of their lines", () => {
  expect(lanes([20, 150, 290, 420], 560, 100)).toEqual([20, 150, 290, 420].map((at) => ({ at, left: false, lane: 0 })));
});
