import { expect, test } from "vitest";
import type { ChartColumn, Timeline } from "../generated/charts";
import { poolText } from "./pool";

test("the length and the samples of a pool are those at the instant", () => {
  const timeline = { seconds: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11] } as unknown as Timeline;
  const column = { pools: [{ seconds: 8, samples: 34 }, { seconds: 1, samples: 0 }, { seconds: 2, samples: 12 }] } as unknown as ChartColumn;
  expect(poolText(column, timeline, null)).toBe(" of 2–8 s");
  expect(poolText(column, timeline, 2)).toBe(" of 8 s (34 samples)");
  expect(poolText(column, timeline, 9.9)).toBe(" of 8 s (34 samples)");
  expect(poolText(column, timeline, 11)).toBe(" of 2 s (12 samples)");
  const even = { pools: [{ seconds: 4, samples: 20 }, { seconds: 4, samples: 22 }] } as unknown as ChartColumn;
  expect(poolText(even, timeline, null)).toBe(" of 4 s");
  expect(poolText({} as ChartColumn, timeline, null)).toBe("");
});
