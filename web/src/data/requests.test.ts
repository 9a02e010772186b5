import { expect, test } from "vitest";
import type { Timeline } from "../generated/charts";
import { onAxis } from "./requests";

test("values of longer steps are repeated over the steps that they cover", () => {
  const timeline = { seconds: [0, 1, 2, 3, 4], step_seconds: 1 } as Timeline;
  const panel = { id: "rate", title: "Rate", unit: "/s", stacked: false, columns: [{ id: "rate/requests", label: "requests", values: [5, null, 7] }] };
  const [drawn] = onAxis({ step_seconds: 2, panels: [panel] }, timeline);
  expect(drawn?.columns[0]?.values).toEqual([5, 5, null, null, 7]);
});
