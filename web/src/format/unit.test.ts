import { expect, test } from "vitest";
import { clock, inUnit, ticksInUnit } from "./unit";

test("ticks share one unit and show no more digits than their step", () => {
  expect(ticksInUnit([0, 0.05, 0.1, 0.15], "s")).toEqual(["0", "50 ms", "100 ms", "150 ms"]);
  expect(ticksInUnit([0, 0.5, 1, 1.5], "s")).toEqual(["0", "0.5 s", "1.0 s", "1.5 s"]);
  expect(ticksInUnit([0, 500, 1000, 1500], "/s")).toEqual(["0", "500/s", "1,000/s", "1,500/s"]);
  expect(ticksInUnit([0, 2.5, 5], "/s")).toEqual(["0", "2.5/s", "5.0/s"]);
  expect(ticksInUnit([0, 0.25, 0.5], "share")).toEqual(["0 %", "25 %", "50 %"]);
  expect(ticksInUnit([0, 5e7, 1e8], "bytes")).toEqual(["0", "50 MB", "100 MB"]);
  expect(ticksInUnit([1000.5, 1001], "1")).toEqual(["1,000.5", "1,001.0"]);
});

test("places on the time axis", () => {
  expect([0, 42, 725, 3750].map(clock)).toEqual(["0:00", "0:42", "12:05", "1:02:30"]);
});

test("a value is formatted in its panel's unit", () => {
  const written = [inUnit(0.0382, "s"), inUnit(1204, "/s"), inUnit(0.5, "share"), inUnit(12, "1"), inUnit(null, "s"), inUnit(null, "cores")];
  expect(written).toEqual(["38.2 ms", "1,204/s", "50.0 %", "12", "—", "—"]);
});
