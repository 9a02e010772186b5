import { expect, it } from "vitest";
import type { TestFile } from "../generated/ui";
import { experimentOf } from "./work";

const test = (...knobs: string[]) => ({ knobs: knobs.map((name) => ({ name, values: ["4", "8"] })) }) as unknown as TestFile;

it("an experiment that is to prove a finding leaves the choice between several knobs to the finding", () => {
  const proof = { run: "0421-shop", finding: "1" };
  expect(experimentOf(test("cache", "pool"), proof)).toMatchObject({ knob: "", finding: "1", run: "0421-shop" });
  expect(experimentOf(test("pool"), proof)).toMatchObject({ knob: "pool" });
  expect(experimentOf(test("cache", "pool"), null)).toMatchObject({ knob: "cache", finding: "" });
});
