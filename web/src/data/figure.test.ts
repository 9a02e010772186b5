import { expect, test } from "vitest";
import type { ChartColumn, Panel } from "../generated/charts";
import type { ReportView } from "../generated/report";
import type { Evidence } from "../generated/verdict";
import { pictureOf } from "./figure";

test("a picture draws the first series that its sentence rests on", () => {
  const panel = (id: string, columns: string[]): Panel =>
    ({ id, title: id, unit: "1", stacked: false, columns: columns.map((column): ChartColumn => ({ id: column, label: column, values: [1, 2] })) });
  const panels = [panel("rate", ["rate/requests"]), panel("in_flight", ["in_flight/requests"])];
  const view = { timeline: { panels, bands: [], step_seconds: 1 } } as unknown as ReportView;
  const drawn = (series: string[]) => pictureOf(view, { series, lines: [] } as unknown as Evidence, 0, 0).plots.map((plot) => plot.panel);
  expect(drawn(["in_flight/requests", "rate/requests"])).toEqual(["in_flight"]);
  expect(drawn(["rate/requests", "in_flight/requests"])).toEqual(["rate"]);
});
