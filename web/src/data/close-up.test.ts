import { expect, test } from "vitest";
import type { Panel, Timeline } from "../generated/charts";
import { closeUpAt } from "./close-up";

const panel = (values: number[]): Panel => ({ id: "rate", title: "", unit: "/s", stacked: false, columns: [{ id: "rate/requests", label: "", values }] });
const timeline: Timeline = {
  seconds: [0, 60, 120, 180], step_seconds: 60, panels: [panel([1, 2, 3, 4])], heat: { edges: [], steps: [] }, bands: [], marks: [],
  close_ups: [{ from_seconds: 0, panels: [panel([1, 1, 1])] }, { from_seconds: 200, panels: [panel([7, 8, 9, 10])] }],
};

test("an interval is drawn in seconds if all of them were stored", () => {
  const near = closeUpAt(timeline, 201, 204);
  expect([near?.seconds, near?.step_seconds, near?.panels[0]?.columns[0]?.values]).toEqual([[200, 201, 202, 203], 1, [7, 8, 9, 10]]);
  expect(closeUpAt(timeline, 0, 3)?.seconds).toEqual([0, 1, 2]);
  expect([closeUpAt(timeline, 2, 4), closeUpAt(timeline, 199, 203), closeUpAt(timeline, 202, 205)]).toEqual([null, null, null]);
  expect(closeUpAt(timeline, 201, 203)).toBe(near);
  expect(closeUpAt({ ...timeline, close_ups: undefined }, 0, 1)).toBeNull();
});
