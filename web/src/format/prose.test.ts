import { expect, test } from "vitest";
import { pieces, sentence, tied } from "./prose";

test("numbers keep their units", () => {
  expect(tied("p99 was 38.2 ms, 95 % below 50 ms; 12 samples, 3 s")).toBe("p99 was 38.2\u00a0ms, 95\u00a0% below 50\u00a0ms; 12 samples, 3\u00a0s");
  expect(tied("125 ms → 66 ms (× 0.53)")).toBe("125\u00a0ms → 66\u00a0ms (×\u00a00.53)");
});

test("a sentence begins with a capital, a name does not change", () => {
  expect(["every one held", "p99 was high", "`a` rests", "Fine"].map(sentence)).toEqual(["Every one held", "p99 was high", "`a` rests", "Fine"]);
  expect(["node:80/busy grew", "here: a sign"].map(sentence)).toEqual(["node:80/busy grew", "Here: a sign"]);
});

test("names in backticks are set as code", () => {
  expect(pieces("raise `pool.max` now")).toEqual([{ text: "Raise ", code: false }, { text: "pool.max", code: true }, { text: " now", code: false }]);
});
