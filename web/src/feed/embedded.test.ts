import { expect, test } from "vitest";
import { feedOf } from "./embedded";
import type { Feed } from "./feed";
import { readJson, UnreadableView } from "./read";

test("a seed keeps all its digits", () => {
  expect(readJson('{"test":{"seed":11400714819323198485}}')).toEqual({ test: { seed: "11400714819323198485" } });
  expect(readJson('{"seed":42,"note":"a \\"seed\\":11400714819323198485"}')).toEqual({ seed: 42, note: 'a "seed":11400714819323198485' });
});

test("invalid data, or a view of another version, is rejected with a remedy", () => {
  expect(() => feedOf("__LOADSTONE_VIEW__")).toThrow(UnreadableView);
  expect(() => feedOf('{"version":2}')).toThrow(/version 2/);
});

test("an embedded view arrives once, and has no controls", () => {
  const feed = feedOf('{"version":1}') as Feed;
  const seen: unknown[] = [];
  feed.start((view) => seen.push(view), () => {}, () => {});
  expect(seen).toEqual([{ version: 1 }]);
  expect(feed.controls).toBeNull();
});
