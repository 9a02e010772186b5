import { expect, test } from "vitest";
import type { RuntimeProfile } from "../generated/summary";
import { digits, functions, isCompared, total, tree } from "./profile";

const compared: RuntimeProfile = {
  observer: "node:8080", samples_each: 3_000,
  stacks: [
    { stack: ["handle", "login", "hash"], seconds: 0.004, free_seconds: 0.001, held_seconds: 0.006 },
    { stack: ["handle", "login"], seconds: 0.001, free_seconds: 0.001, held_seconds: 0.001 },
    { stack: ["handle", "sign", "hash"], seconds: 0.001, free_seconds: 0.001, held_seconds: 0.002 },
    { stack: ["(other)"], seconds: 0.002, free_seconds: 0.003, held_seconds: 0.001 },
  ],
};

test("functions are below their callers, each with its own time", () => {
  const root = tree(compared);
  expect(root.children.map((child) => [child.name, child.value])).toEqual([["handle", 0], ["(other)", 0.001]]);
  const login = root.children[0]!.children[0]!;
  expect([login.name, login.value, login.children[0]!.value]).toEqual(["login", 0.001, 0.006]);
  expect(login.children[0]!.delta).toBeCloseTo(0.005);
});

test("a function's row adds up all of its positions, the largest growth first", () => {
  const rows = functions(compared);
  expect(rows.map((row) => row.name)).toEqual(["hash", "login", "(other)"]);
  expect([rows[0]!.under, rows[0]!.seconds, rows[0]!.free]).toEqual(["login", 0.005, 0.002]);
  expect(rows[0]!.held).toBeCloseTo(0.008);
  expect(total(compared).held).toBeCloseTo(0.01);
});

test("if a request takes less while work waits, the function with the most time is first", () => {
  const warm: RuntimeProfile = {
    observer: "jvm:8080", samples_each: 3_000,
    stacks: [
      { stack: ["score", "digest"], seconds: 0.02, free_seconds: 0.04, held_seconds: 0.015 },
      { stack: ["fill"], seconds: 0.004, free_seconds: 0.001, held_seconds: 0.005 },
    ],
  };
  expect(functions(warm).map((row) => row.name)).toEqual(["digest", "fill"]);
});

test("if nothing waited, the whole run is drawn", () => {
  const stacks = [{ stack: ["main", "parse"], seconds: 0.002 }, { stack: ["main"], seconds: 0.003 }];
  const whole: RuntimeProfile = { observer: "go", samples_each: 3_000, stacks };
  expect(isCompared(whole)).toBe(false);
  expect(tree(whole).children[0]!.value).toBe(0.003);
  expect(functions(whole).map((row) => [row.name, row.free])).toEqual([["main", null], ["parse", null]]);
});

test("a time has as many digits as its samples justify", () => {
  // A dozen samples, some hundreds, and a profile of an earlier version, which does not contain the number.
  expect([digits(0.004, 3_000), digits(0.4, 3_000), digits(-0.4, 3_000), digits(null, 3_000), digits(0.004, undefined)]).toEqual([1, 2, 2, 1, 3]);
});
