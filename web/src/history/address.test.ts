import { describe, expect, it } from "vitest";
import { addressFrom, answerHash, comparisonHash, hashOf, linksOf, rampHash, trendHash } from "./address";

describe("addresses", () => {
  it("can be parsed back to their parts", () => {
    expect(addressFrom(hashOf("a b/c", "d"))).toEqual({ page: "run", run: "a b/c", other: "d", within: null });
    expect(addressFrom(answerHash("experiments/x"))).toEqual({ page: "answer", path: "answers/experiments%2Fx" });
    expect(addressFrom(trendHash("Demo shop"))).toEqual({ page: "answer", path: "trends/Demo%20shop" });
    expect(addressFrom(rampHash("2026-11-20T18-30-05-shop"))).toEqual({ page: "answer", path: "ramps/2026-11-20T18-30-05-shop" });
    expect(addressFrom(comparisonHash("a", "b"))).toEqual({ page: "answer", path: "comparisons/a/b" });
    for (const hash of ["", "#/", "#/runs/", "#/answers/a/b", "#/nowhere"]) expect(addressFrom(hash)).toEqual({ page: "home" });
  });

  it("of an answer's runs are within the answer, those of a trend in the folder", () => {
    expect(addressFrom(linksOf("answers/experiments%2Fx").run("block 1"))).toEqual({ page: "run", run: "block 1", other: null, within: "experiments/x" });
    expect(linksOf("trends/shop").run("r")).toBe(hashOf("r"));
  });
});
