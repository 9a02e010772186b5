import { expect, test } from "vitest";
import type { ReportView } from "../generated/report";
import { joined } from "./delta";

const column = (id: string, values: (number | null)[]) => ({ id, label: id, values });
const view = (seconds: number[], values: (number | null)[], extra: object = {}) =>
  ({
    summary: { ...extra },
    request_charts: [{ step_seconds: 1, panels: [{ id: "rate", columns: [column("rate/requests", values)] }] }],
    timeline: {
      seconds, step_seconds: 1, marks: [], heat: { edges: [1, 2], steps: seconds.map((at) => [0, at]) },
      panels: [{ id: "rate", columns: [column("rate/requests", values)] }],
      bands: [{ observer: "o", panels: [{ id: "signal", columns: [column("signal/a", values)] }] }],
    },
  }) as unknown as ReportView;

test("unchanged steps are kept, later steps replaced, and everything else is from the newer view", () => {
  const before = view([0, 1, 2], [10, 11, 12], { requests: 3 });
  const delta = { kept: 2, kept_charts: [2], view: view([2, 3], [20, null], { requests: 5 }) };
  expect(joined(before, delta)).toEqual(view([0, 1, 2, 3], [10, 11, 20, null], { requests: 5 }));
  expect(before).toEqual(view([0, 1, 2], [10, 11, 12], { requests: 3 }));
});
