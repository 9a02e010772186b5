// The history with a server that implements its requests: start from a form, overlay, note, delete.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { AnswerSource } from "../src/answers/source.ts";
import type { ReportView, RunRow } from "../src/generated/report.ts";
import type { AnswerRow, QueueRow, RefusedFields, TestFile } from "../src/generated/ui.ts";
import { COMPARISON, EXPERIMENT, RAMP, TREND } from "./answers.ts";
import { fixture, launch, pageWith } from "./browser.ts";

const TOKEN = "0123456789abcdef";
const views = Object.fromEntries(["healthy", "findings", "failing"].map((name) => JSON.parse(fixture(name)) as ReportView).map((view) => [view.test.id, view]));

function rowOf(view: ReportView): RunRow {
  const { summary, test } = view;
  const { thresholds, validity } = summary.verdict;
  return {
    id: test.id, directory: `runs/${test.id}`, test: test.name, started: test.started, state: test.state, duration_seconds: summary.totals.duration_seconds,
    requests: summary.totals.requests, request_rate: summary.totals.request_rate,
    finding: summary.verdict.findings.findings[0]?.claim, failed: summary.totals.requests_failed,
    p95_seconds: summary.response.percentiles.find((p) => p.quantile === 0.95)!.value,
    validity: validity.grade, thresholds: thresholds.length, thresholds_met: thresholds.filter((result) => result.state === "passed").length, tags: test.tags,
  };
}

const TESTS: TestFile[] = [
  {
    file: "webhooks.load.ts", name: "Webhooks", error: null, load: ["Pay: 40 arrivals/s for 5m"],
    parameters: [
      { name: "paymentsPerSecond", kind: { number: { min: 0, max: 1000 } }, help: "payments made per second", default: "40", secret: false },
      { name: "delay", kind: "delay", help: "how long the subscriber takes", default: "loguniform(100ms, 2s)", secret: false },
      { name: "mode", kind: { choice: { options: ["one", "many"] } }, help: null, default: "one", secret: false },
      { name: "apiKey", kind: "string", help: null, default: "•••", secret: true },
    ],
    knobs: [{ name: "pool", values: ["5", "10"] }], objectives: ["p95 < 300ms"],
  },
  { file: "broken.load.ts", name: "broken.load.ts", error: "broken.load.ts:3:7: expected `;`", load: [], parameters: [], knobs: [], objectives: [] },
];

class HistoryServer {
  runs = Object.values(views).map(rowOf);
  queue: QueueRow[] = [];
  tests = TESTS;
  answers: AnswerRow[] = [];
  /** Answers that rest on several runs, by path. */
  pages: Record<string, AnswerSource> = {};
  changes: [method: string, path: string, body: unknown][] = [];
  /** The reason why the next request to the queue is refused. */
  refusal: RefusedFields | null = null;
  private server: Server = createServer((request, response) => void this.answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse) {
    const path = decodeURIComponent(request.url ?? "");
    if (path === "/") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      return void response.end(pageWith(JSON.stringify({ feed: "history", api: "/api", token: TOKEN })));
    }
    if (request.method !== "GET") return this.change(request, response, path);
    const id = /^\/api\/runs\/(.+)$/.exec(path)?.[1];
    const lists = { "/api/runs": this.runs, "/api/tests": this.tests, "/api/queue": this.queue, "/api/answers": this.answers };
    const found = id ? views[id] : { ...lists, ...this.pages }[path];
    if (!found) return void response.writeHead(404).end("There is no such run.");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
  }

  private async change(request: IncomingMessage, response: ServerResponse, path: string) {
    if (request.headers["x-loadstone-token"] !== TOKEN) return void response.writeHead(403).end("Wrong token.");
    let text = "";
    for await (const part of request) text += String(part);
    const body = text ? JSON.parse(text) : null;
    this.changes.push([request.method!, path, body]);
    if (path === "/api/queue" && this.refusal) {
      return void response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify(this.refusal));
    }
    if (path === "/api/queue") {
      this.queue = [{ id: "q1", file: body.file, name: "Webhooks", state: "running", parameters: body.parameters, work: body.work, live: null, problem: null }];
    }
    if (request.method === "DELETE") this.runs = this.runs.filter((run) => path !== `/api/runs/${run.id}`);
    response.writeHead(204).end();
  }
}

let browser: Browser;
let server: HistoryServer;
let page: Page;
let complaints: string[];
beforeAll(async () => { browser = await launch(); });
afterAll(async () => { await browser.close(); });
beforeEach(async () => {
  server = new HistoryServer();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
  await page.goto(await server.start());
  await page.waitForSelector("[data-run]");
});
afterEach(async () => {
  if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: `shots/history-${expect.getState().currentTestName?.replace(/\W+/g, "-").slice(0, 40)}.png` });
  await page.close();
  server.stop();
  expect(complaints).toEqual([]);
});

test("a run is started from the form with another delay", async () => {
  expect(await page.getByText("broken.load.ts:3:7: expected `;`").count()).toBe(1);
  await page.getByRole("button", { name: "Run …" }).click();
  expect(await page.getByLabel("paymentsPerSecond").inputValue()).toBe("40");
  await page.getByLabel("delay").fill("2s");
  expect(await page.getByText("1 value changed").count()).toBe(1);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect.poll(() => server.changes).toEqual([["POST", "/api/queue", { file: "webhooks.load.ts", parameters: { delay: "2s" }, work: { kind: "run" } }]]);
  await expect.poll(() => page.getByText("is running with delay = 2s").count()).toBe(1);
});

test("a double click queues one run", async () => {
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).dblclick();
  await expect.poll(() => page.getByText("is running").count()).toBe(1);
  expect(server.changes.map(([method]) => method)).toEqual(["POST"]);
});

test("the page begins with the queue and the last runs, and a long list has a search", async () => {
  const [run] = server.runs;
  server.runs = Array.from({ length: 12 }, (_, i) => ({ ...run!, id: `run-${i}`, test: `Run ${i}` }));
  server.tests = Array.from({ length: 9 }, (_, i) => ({ ...TESTS[0]!, file: `${i}.load.ts`, name: `Test ${i}` }));
  server.queue = [{ id: "q1", file: "0.load.ts", name: "Test 0", state: "waiting", parameters: {}, work: { kind: "run" }, live: null, problem: null }];
  await page.reload();
  await page.waitForSelector("[data-run]");
  expect(await page.locator("h2").allInnerTexts()).toEqual(["Queue", "Runs", "Tests"]);
  expect(await page.locator("[data-run]").count()).toBe(10);
  await page.getByRole("button", { name: "Show all 12 runs" }).click();
  expect(await page.locator("[data-run]").count()).toBe(12);
  await page.getByRole("searchbox", { name: "Search the tests" }).fill("test 7");
  expect(await page.getByRole("button", { name: "Run …" }).count()).toBe(1);
});

test("the history is searched by words and tags", async () => {
  const shown = () => page.locator("[data-run] a").allInnerTexts();
  expect(await shown()).toHaveLength(3);
  await page.getByRole("button", { name: "demo", exact: true }).click();
  expect(await shown()).toEqual(["Demo shop"]);
  await page.getByRole("searchbox", { name: "Search the runs" }).fill("checkout invalid");
  expect(await shown()).toEqual(["Checkout under the sale's peak"]);
});

test("two runs are overlaid on the same charts", async () => {
  const [mine, theirs] = ["Tickets: a morning's load", "Demo shop"].map((name) => server.runs.find((run) => run.test === name)!);
  server.pages[`/api/comparisons/${theirs!.id}/${mine!.id}`] = { feed: "comparison", answer: COMPARISON };
  await page.getByRole("checkbox", { name: /Select Tickets/ }).check();
  await page.getByRole("checkbox", { name: /Select Demo shop/ }).check();
  await page.getByRole("link", { name: "Overlay these two" }).click();
  await page.waitForSelector("#charts canvas");
  expect(await page.locator("h1").innerText()).toBe("Tickets: a morning's load");
  expect(await page.locator('[data-panel="response"] .legend').innerText()).toContain("p99, other run");
  const table = page.getByRole("region", { name: "The two runs" });
  expect(await table.innerText()).toContain("Demo shop");
  await expect.poll(() => table.getByRole("row", { name: /^p95/ }).first().innerText()).toContain("+12.0 %");
  expect(await table.getByRole("row", { name: /^p95/ }).first().innerText()).toContain("+8.3 to +16.0 %");
  if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: "shots/history-overlay.png", fullPage: true });
  await page.getByRole("link", { name: "All runs" }).click();
  await expect.poll(() => page.locator("h1").innerText()).toBe("Tests and runs");
});

test("a run is compared with the previous one of its test by one click", async () => {
  const mine = server.runs.find((run) => run.test === "Tickets: a morning's load")!;
  server.runs.push({ ...mine, id: "before", started: "2026-11-19T18:04:11Z" });
  server.pages[`/api/comparisons/before/${mine.id}`] = { feed: "comparison", answer: COMPARISON };
  await page.reload();
  expect(await page.getByText("Select two to compare them").count()).toBe(1);
  await page.locator(`[data-run="${mine.id}"] a`).click();
  await page.getByRole("link", { name: "Compare with the previous run" }).click();
  await expect.poll(() => page.getByTestId("verdict").innerText()).toBe("Worse");
});

test("an experiment is started from its form, watched, and its result is shown", async () => {
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByText("Experiment", { exact: true }).click();
  expect(await page.getByText("set to 5, 10 in turn; reset to 5 at the end").count()).toBe(1);
  await page.getByRole("textbox", { name: /^block/ }).fill("20s");
  await page.getByRole("button", { name: "Start the experiment" }).click();
  const work = { kind: "experiment", knob: "pool", block: "20s", rounds: "", effect: "", measure: "", finding: "", run: "" };
  await expect.poll(() => server.changes).toEqual([["POST", "/api/queue", { file: "webhooks.load.ts", parameters: {}, work }]]);

  server.queue[0]!.progress = { text: "Round 1: pool 5", done: 0.01, left_seconds: 200, answer: null };
  await expect.poll(() => page.getByText("Round 1: pool 5; about 3 min 20 s left").count()).toBe(1);
  expect(await page.getByRole("link", { name: "So far" }).count(), "there is no result yet").toBe(0);
  server.queue[0]!.progress = { text: "Round 2: pool 10", done: 0.25, left_seconds: 90, answer: "experiments/x" };
  const said = { about: "pool: 5, 10", changed_ms: 1.8e12, word: "BETTER", tone: "good", headline: "p95 halves" } as const;
  server.answers = [{ id: "experiments/x", kind: "experiment", test: "Webhooks", ...said }];
  server.pages["/api/answers/experiments/x"] = { feed: "experiment", answer: EXPERIMENT };
  await expect.poll(() => page.getByText("Round 2: pool 10; about 1 min 30 s left").count()).toBe(1);
  expect(await page.locator("progress").getAttribute("value")).toBe("0.25");
  if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: "shots/history-experiment.png", fullPage: true });
  await page.getByRole("link", { name: "So far" }).click();
  await page.getByTestId("course").first().waitFor();
  expect(await page.getByRole("link", { name: "So far" }).count(), "the page is what it leads to").toBe(0);
  await expect.poll(() => page.getByTestId("proof").count()).toBe(1);
  expect(await page.getByTestId("course").first().locator("a").first().getAttribute("href")).toBe("#/answers/experiments%2Fx/runs/block-0");
  await page.getByRole("link", { name: "All runs" }).click();
  await page.locator("[data-answer]").getByRole("link").click();
  await expect.poll(() => page.getByTestId("proof").count()).toBe(1);
});

test("an error of an experiment with several knobs is at the field that it is about", async () => {
  server.tests = [{ ...TESTS[0]!, knobs: [{ name: "pool", values: ["5", "10"] }, { name: "threads", values: ["8", "16"] }] }];
  server.refusal = { fields: {}, work: { field: "finding", why: "\"GET /a\" names none of the test's knobs (\"pool\", \"threads\")" } };
  await page.goto(`${page.url().split("#")[0]}#/experiments/webhooks.load.ts/${server.runs[0]!.id}/1`);
  await page.reload();
  const knob = page.getByRole("combobox", { name: /^knob/ });
  expect(await knob.inputValue()).toBe("");
  expect(await knob.locator("option").allInnerTexts()).toEqual(["the one that the finding names", "pool", "threads"]);
  await page.getByRole("button", { name: "Start the experiment" }).click();
  await page.getByRole("alert").filter({ hasText: "names none of the test's knobs" }).waitFor();
  expect(await knob.getAttribute("aria-invalid")).toBe("true");
  expect(await knob.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(server.queue).toEqual([]);
  // The error disappears with the value that it is about.
  await knob.selectOption("threads");
  expect(await page.getByRole("alert").count()).toBe(0);
  server.refusal = { fields: {}, work: { field: "run", why: "there is no such run" } };
  await page.getByRole("button", { name: "Start the experiment" }).click();
  await page.getByRole("alert").filter({ hasText: "there is no such run" }).waitFor();
  server.refusal = null;
  await page.getByRole("button", { name: "Start the experiment" }).click();
  await expect.poll(() => server.queue.map(({ work }) => work)).toEqual([expect.objectContaining({ knob: "threads", finding: "1" })]);
  // The browser reports each refusal as an error.
  complaints = complaints.filter((text) => !text.includes("422"));
});

test("a finding cannot be proved by a test without a knob, and its form shows what to add", async () => {
  server.tests = [{ ...TESTS[0]!, knobs: [] }];
  await page.goto(`${page.url().split("#")[0]}#/experiments/webhooks.load.ts/${server.runs[0]!.id}/1`);
  await page.reload();
  const note = page.getByRole("form").getByRole("status");
  expect(await note.innerText()).toContain("this test declares none. Add a knob to it");
  expect(await note.locator("code").nth(1).innerText()).toContain('knob("pool", { values: [4, 8]');
  expect(await page.getByText("Experiment", { exact: true }).count()).toBe(0);
});

test("a search uses the test's thresholds as objectives by default", async () => {
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByText("Capacity", { exact: true }).click();
  expect(await page.getByLabel("objective").getAttribute("placeholder")).toBe("p95 < 300ms");
  expect(await page.getByLabel("objective").inputValue()).toBe("");
  await page.getByLabel("objective").fill("p99 < 1s\n\nfailures < 1%");
  await page.getByLabel("budget").fill("5m");
  if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: "shots/history-search.png", fullPage: true });
  await page.getByRole("button", { name: "Start the search" }).click();
  const work = { kind: "capacity", objectives: ["p99 < 1s", "failures < 1%"], first: "", most: "", precision: "", probe: "", budget: "5m" };
  await expect.poll(() => server.changes.map(([, , body]) => (body as { work: unknown }).work)).toEqual([work]);
});

test("a run links to its capacity estimate", async () => {
  const [first] = server.runs;
  server.pages[`/api/ramps/${first!.id}`] = { feed: "ramp", answer: RAMP };
  await page.getByRole("link", { name: "Tickets: a morning's load" }).click();
  await page.getByRole("link", { name: "Estimate the capacity" }).click();
  await expect.poll(() => page.getByTestId("verdict").innerText()).toBe("At most 200/s");
});

test("one click on a step of a trend compares its two runs", async () => {
  server.pages["/api/trends/Webhooks"] = { feed: "trend", answer: TREND };
  server.pages["/api/comparisons/run-13/run-14"] = { feed: "comparison", answer: COMPARISON };
  await page.getByRole("link", { name: "Trend" }).first().click();
  await page.getByTestId("series").first().waitFor();
  await page.getByRole("link", { name: "Compare the two runs" }).waitFor();
  await page.getByTestId("series").first().getByRole("link", { name: /^Compare before and after/ }).locator("circle").click();
  await expect.poll(() => page.evaluate(() => location.hash)).toBe("#/comparisons/run-13/run-14");
  await expect.poll(() => page.getByTestId("verdict").innerText()).toBe("Worse");
});

test("the list of runs shows commits, and columns for the parameters that differ", async () => {
  const [first, second] = server.runs;
  server.runs = [
    { ...first!, branch: "fix/pool", commit: "39dbcdc0123456789", dirty: true, parameters: [["rate", "40"], ["target", "x"]] },
    { ...second!, commit: "c021bae0123456789", parameters: [["rate", "20"], ["target", "x"]] },
  ];
  await page.reload();
  await page.waitForSelector("[data-run]");
  expect(await page.locator("[data-run]").first().innerText()).toContain("fix/pool 39dbcdc*");
  expect(await page.locator("thead").first().innerText()).toContain("rate");
  expect(await page.locator("thead").first().innerText()).not.toContain("target");
  if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: "shots/history-runs.png", fullPage: true });
  for (const box of await page.getByRole("checkbox").all()) await box.check();
  const compare = await page.getByRole("link", { name: "Compare these two" }).getAttribute("href");
  expect(compare).toBe(`#/comparisons/${second!.id}/${first!.id}`);
});

test("a note is kept, and a run is deleted only after a confirmation", async () => {
  const [first] = server.runs;
  await page.getByRole("link", { name: "Tickets: a morning's load" }).click();
  await page.getByLabel("Note").fill("with 16 workers");
  await page.getByRole("textbox", { name: "Tags" }).click();
  await expect.poll(() => page.getByText("Saved").count()).toBe(1);
  expect(server.changes).toEqual([["PATCH", `/api/runs/${first!.id}`, { note: "with 16 workers" }]]);

  await page.getByRole("link", { name: "All runs" }).click();
  await page.getByRole("button", { name: /Delete Tickets/ }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await page.getByRole("button", { name: /Delete Tickets/ }).click();
  expect(server.changes).toHaveLength(1);
  await page.getByRole("button", { name: "Delete for good" }).click();
  await expect.poll(() => page.locator("[data-run]").count()).toBe(2);
});

test("the history fits a phone", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("button", { name: "Run …" }).click();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
});
