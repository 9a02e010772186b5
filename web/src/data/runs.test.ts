import { describe, expect, it, test } from "vitest";
import type { ReportView, RunRow } from "../generated/report";
import type { ParameterField } from "../generated/ui";
import { overlay } from "./overlay";
import { chosen, differingParameters, missing, previousOf, search, sourceOf, tagsOf } from "./runs";

const run = (id: string, test: string, tags: string[], note = "") => ({ id, test, tags, note, state: "completed", validity: "valid" }) as unknown as RunRow;
const runs = [run("1", "Tickets", ["nightly", "main"]), run("2", "Webhooks", ["Main"], "with 16 workers"), run("3", "Tickets", [])];

test("search finds words anywhere and tags exactly", () => {
  const found = (text: string) => search(runs, text).map(({ id }) => id);
  expect(found("tickets")).toEqual(["1", "3"]);
  expect(found("#main")).toEqual(["1", "2"]);
  expect(found("#mai")).toEqual([]);
  expect(found("#main workers")).toEqual(["2"]);
  expect(tagsOf(runs)).toEqual(["main", "Main", "nightly"]);
});

test("the previous run is the last finished one of the same test", () => {
  const at = (id: string, minute: string, more: Partial<RunRow> = {}) => ({ ...run(id, "Tickets", []), started: `2026-11-20T18:${minute}:00Z`, ...more });
  const mine = at("mine", "30");
  const others = [at("later", "40"), at("running", "29", { state: "running" }), at("old", "10"), at("last", "20"), at("other", "25", { test: "Webhooks" })];
  expect(previousOf(mine, others)?.id).toBe("last");
  expect(previousOf(mine, others.filter(({ test }) => test !== "Tickets"))).toBeNull();
});

test("a form sends only what differs from the default, and never a secret that nobody entered", () => {
  const parameter = (name: string, usual: string | null, secret = false): ParameterField => ({ name, kind: "string", help: null, default: usual, secret });
  const parameters = [parameter("rate", "4"), parameter("target", null), parameter("key", "•••", true)];
  expect(chosen(parameters, { rate: "4", target: "http://x", key: "" })).toEqual({ target: "http://x" });
  expect(chosen(parameters, { rate: "5", target: "", key: "k" })).toEqual({ rate: "5", key: "k" });
});

test("a value is missing if there is no default, or if it was cleared", () => {
  const parameter = (name: string, usual: string | null, secret = false): ParameterField => ({ name, kind: "string", help: null, default: usual, secret });
  const plain = [parameter("target", null), parameter("rate", "4"), parameter("note", "")];
  const parameters = [...plain, parameter("key", "•••", true), parameter("word", null, true)];
  expect(missing(parameters, { target: "", rate: "", note: "", key: "", word: "" })).toEqual(["target", "rate", "word"]);
  expect(missing(parameters, { target: "http://x", rate: "4", note: "", key: "", word: "w" })).toEqual([]);
});

test("an overlay puts both runs on one axis, for any steps", () => {
  const view = (seconds: number[], step: number, values: number[]) => {
    const columns = [{ id: "rate/requests", label: "requests", values }, { id: "rate/failures", label: "failed", values }];
    const panels = [{ id: "rate", title: "", unit: "/s", stacked: false, columns }];
    return { timeline: { seconds, step_seconds: step, bands: [], panels } } as unknown as ReportView;
  };
  const laid = overlay(view([0, 2], 2, [10, 20]), view([0, 1, 2, 3, 4, 5], 1, [1, 2, 3, 4, 5, 6])).timeline;
  expect(laid.seconds).toEqual([0, 2, 4]);
  expect(laid.panels[0]!.columns.map(({ id, values }) => [id, values])).toEqual([
    ["rate/requests", [10, 20, null]],
    ["rate/failures", [10, 20, null]],
    ["other/rate/requests", [1, 3, 5]],
  ]);
  const shorter = overlay(view([0, 1, 2], 1, [1, 2, 3]), view([0], 1, [9])).timeline.panels[0]!.columns.at(-1)!;
  expect(shorter.values).toEqual([9, null, null]);
});

describe("a list of runs", () => {
  const run = (id: string, parameters: [string, string][], more = {}) => ({ id, test: "Shop", tags: [], parameters, ...more }) as unknown as RunRow;

  it("has columns for the parameters that differ", () => {
    const runs = [run("a", [["rate", "10"], ["target", "x"]]), run("b", [["rate", "20"], ["target", "x"]]), run("c", [])];
    expect(differingParameters(runs)).toEqual(["rate"]);
    expect(differingParameters(runs.slice(1))).toEqual([]);
  });

  it("names the commit, and is searched by it", () => {
    const runs = [run("a", [], { branch: "fix/pool", commit: "39dbcdc0123", dirty: true }), run("b", []), run("c", [], { commit: "39dbcdc0123" })];
    expect(runs.map(sourceOf)).toEqual(["fix/pool 39dbcdc*", "", "39dbcdc"]);
    expect(search(runs, "fix/pool").map((found) => found.id)).toEqual(["a"]);
    expect(search(runs, "39dbc").map(({ id }) => id)).toEqual(["a", "c"]);
  });
});
