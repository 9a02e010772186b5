import { expect, test } from "vitest";
import type { ChartColumn, Timeline } from "../generated/charts";
import { poolText } from "./pool";

test("a pooled span is never longer than the run", () => {
  const column = { pool: { seconds: 8, samples: [34, 12] } } as unknown as ChartColumn;
  const run = (length: number) => ({ seconds: Array.from({ length }, (_, second) => second) }) as unknown as Timeline;
  expect(poolText(column, run(4), null)).toBe(" of 4 s");
  expect(poolText(column, run(4), 2)).toBe(" of 4 s (34 samples)");
  expect(poolText(column, run(12), null)).toBe(" of 8 s");
  expect(poolText(column, run(12), 3)).toBe(" of 8 s (34 samples)");
  expect(poolText(column, run(12), 9)).toBe(" of 4 s (12 samples)");
});
