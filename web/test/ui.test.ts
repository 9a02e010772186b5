// `loadstone ui` in a real browser: a run is started from its form, watched, stopped, noted, overlaid.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { launch } from "./browser.ts";
import { mistakes, type Typed } from "./types.ts";

const BINARY = process.env.LOADSTONE_BINARY ?? fileURLToPath(new URL("../../target/debug/loadstone", import.meta.url));
const SECRET = "s3cret-of-the-form";
const SLOW = { timeout: 60_000 };

const SHOP = (target: string) => `
import { test, scenario, arrivals, param, responseTime } from "loadstone";
const rate = param.number("rate", { default: 20, min: 1, max: 50, help: "visitors per second" });
const runTime = param.duration("runTime", { default: "10m" });
const mode = param.choice("mode", ["read", "write"], { default: "read" });
const key = param.string("apiKey", { secret: true });
const visit = scenario("Visit", async (user) => { await user.get("/" + mode, { headers: { "x-key": key } }); });
export default test({
  name: "Shop", target: "${target}", load: visit.run(arrivals(rate).for(runTime)),
  thresholds: [responseTime().p95.below("30s")],
});
`;

let browser: Browser;
let target: Server;
let keys: Set<unknown>;
let folder: string;
let ui: ChildProcess;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  if (!existsSync(BINARY)) throw new Error(`${BINARY} is not there: build it (cargo build --package loadstone), or set LOADSTONE_BINARY to the path of one.`);
  browser = await launch();
  target = createServer((request, response) => { keys.add(request.headers["x-key"]); response.end("fine"); });
  await new Promise<void>((done) => target.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  await browser.close();
  target.close();
  target.closeAllConnections();
});

beforeEach(async () => {
  keys = new Set();
  folder = mkdtempSync(join(tmpdir(), "loadstone-ui-"));
  writeFileSync(join(folder, "shop.load.ts"), SHOP(`http://127.0.0.1:${(target.address() as AddressInfo).port}`));
  writeFileSync(join(folder, "broken.load.ts"), "export default nothing.at.all;\n");
  ui = spawn(BINARY, ["ui", "--listen", "127.0.0.1:0"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const address = await new Promise<string>((done, failed) => {
    ui.once("exit", (code) => failed(new Error(`loadstone ui ended with ${code}`)));
    createInterface(ui.stderr!).on("line", (line) => { const found = /http:\S+/.exec(line)?.[0]; if (found) done(found); });
  });
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(address);
  await page.getByRole("heading", { name: "Shop" }).waitFor();
});
afterEach(async () => {
  await page.close();
  const ended = new Promise((done) => ui.once("exit", done));
  if (ui.exitCode === null && ui.kill("SIGTERM")) await ended;
  rmSync(folder, { recursive: true });
  expect(complaints).toEqual([]);
});

/** Starts the shop from its form, with the given values. */
async function start(values: Record<string, string>) {
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByLabel("apiKey").fill(SECRET);
  for (const [name, value] of Object.entries(values)) await page.getByLabel(name).fill(value);
  await page.getByRole("button", { name: "Run", exact: true }).click();
}

/** The response of the server to a path, with the type that the page expects. */
async function served(path: string, type: string, module: Typed["module"] = "generated/report"): Promise<Typed> {
  return { value: await page.evaluate(async (path) => (await fetch(`/api/${path}`)).json(), path), type, module };
}

const rows = () => page.locator("[data-run]");
const shot = async (name: string) => { if (process.env.LOADSTONE_SHOTS) await page.screenshot({ path: `shots/ui-${name}.png` }); };

/** The content of all files in the folder. */
function filesBelow(path: string): string {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8")).join("\n");
}

test("a form shows what its test declares, and the errors of rejected values", async () => {
  expect(await page.locator("pre").innerText()).toContain("broken.load.ts:1:");
  await page.getByRole("button", { name: "Run …" }).click();
  expect(await page.getByLabel("rate").inputValue()).toBe("20");
  expect(await page.getByText("visitors per second; at least 1, at most 50").count()).toBe(1);
  expect(await page.getByLabel("apiKey").getAttribute("type")).toBe("password");
  expect(await page.getByLabel("mode").locator("option").allInnerTexts()).toEqual(["read", "write"]);
  await shot("form");
  await page.getByLabel("apiKey").fill(SECRET);
  await page.getByLabel("rate").fill("500");
  await page.getByLabel("runTime").fill("5 parsecs");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const rate = page.getByLabel("rate");
  await expect.poll(() => rate.getAttribute("aria-invalid")).toBe("true");
  const why = await rate.evaluate((field) => document.getElementById(field.getAttribute("aria-describedby") ?? "")?.innerText);
  expect(why).toBe("500 is above the maximum, 50.");
  expect(await page.getByText(/"5 parsecs" is not a duration/).count()).toBe(1);
  expect(await page.getByText("-p ").count()).toBe(0);
  expect(await rate.inputValue()).toBe("500");
  expect(await rate.evaluate((field) => field === document.activeElement)).toBe(true);
  await shot("form-wrong");
  await rate.fill("50");
  expect(await rate.getAttribute("aria-invalid")).toBe("false");
  expect(await page.getByLabel("runTime").getAttribute("aria-invalid")).toBe("true");
});

test("an empty field that needs a value has an error, and nothing starts", async () => {
  await page.getByRole("button", { name: "Run …" }).click();
  expect(await page.getByText("1 value is missing").count()).toBe(1);
  expect(await page.getByText("Enter a value").count()).toBe(0);
  await page.getByLabel("rate").fill("");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  expect(await page.getByText(/^Enter a value/).allInnerTexts()).toEqual(["Enter a value; the default is 20.", "Enter a value: there is no default."]);
  expect(await page.getByLabel("rate").evaluate((field) => field === document.activeElement)).toBe(true);
  await shot("form-empty");
  await page.getByLabel("rate").fill("20");
  await page.getByLabel("apiKey").fill(SECRET);
  expect(await page.getByText("Enter a value").count()).toBe(0);
  expect(await page.locator("ol li").count()).toBe(0);
  expect(keys.size).toBe(0);
});

test("a run is started, watched, stopped and found again", async () => {
  await start({});
  // The live page opens by itself.
  await page.waitForURL(/\/live\//, SLOW);
  await page.waitForSelector("#charts canvas", SLOW);
  expect(await page.locator("header").innerText()).toContain("Running");
  await shot("watch");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await expect.poll(() => page.locator("header").innerText(), SLOW).toContain("Interrupted");
  await page.getByRole("link", { name: "All runs" }).click();
  await expect.poll(() => rows().count(), SLOW).toBe(1);
  await expect.poll(() => rows().innerText(), SLOW).toContain("interrupted");
  expect([...keys]).toEqual([SECRET]);
  expect(filesBelow(folder)).not.toContain(SECRET);
});

test("a search starts from its unchanged form, and can be stopped", async () => {
  await page.getByRole("button", { name: "Run …" }).click();
  await page.getByText("Capacity", { exact: true }).click();
  expect(await page.getByLabel("objective").getAttribute("placeholder")).toBe("response time p95 below 30s");
  await page.getByLabel("apiKey").fill(SECRET);
  await page.getByRole("button", { name: "Start the search" }).click();
  await expect.poll(() => page.locator("main").innerText(), SLOW).toContain("Probe 1");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect.poll(() => page.locator("main").innerText(), SLOW).not.toContain("is running");
  expect(filesBelow(folder)).not.toContain(SECRET);
});

test("runs wait in the queue; two of them are overlaid, noted, and one is deleted", async () => {
  // Its parameters are shown while it runs, which a busy machine may miss for some seconds.
  await start({ runTime: "10s" });
  await expect.poll(() => page.getByText("apiKey = •••").count(), SLOW).toBe(1);
  await start({ runTime: "2s", rate: "40" });
  await expect.poll(() => page.locator("ol li.waiting").count(), SLOW).toBe(1);
  expect(mistakes([await served("tests", "TestFile[]", "generated/ui"), await served("queue", "QueueRow[]", "generated/ui")])).toEqual([]);
  await expect.poll(async () => (await rows().allInnerTexts()).filter((row) => /Valid|Suspect|Invalid/.test(row)).length, SLOW).toBe(2);
  const list = await served("runs", "RunRow[]");
  const [first, second] = (list.value as { id: string }[]).map((run) => run.id);
  const comparison = await served(`comparisons/${second}/${first}`, "AnswerSource", "answers/source");
  expect(mistakes([list, await served(`runs/${first}`, "ReportView"), comparison])).toEqual([]);

  for (const box of await page.getByRole("checkbox", { name: /Select Shop/ }).all()) await box.check();
  await page.getByRole("link", { name: "Overlay these two" }).click();
  await page.waitForSelector("#charts canvas");
  expect(await page.locator('[data-panel="rate"] .legend').innerText()).toContain("requests, other run");
  const table = page.getByRole("region", { name: "The two runs" });
  expect(await table.getByRole("row", { name: /^rate 40 20/ }).innerText()).toMatch(/20|40/);
  await shot("overlay");

  await page.getByLabel("Note").fill("with another rate");
  await page.getByRole("textbox", { name: "Tags" }).fill("baseline, quiet");
  await page.getByLabel("Note").click();
  await expect.poll(() => page.getByText("Saved").count(), SLOW).toBe(1);
  await page.reload();
  expect(await page.getByLabel("Note").inputValue()).toBe("with another rate");

  await page.getByRole("link", { name: "All runs" }).click();
  await page.getByRole("button", { name: "quiet" }).click();
  expect(await rows().count()).toBe(1);
  await shot("runs");
  await page.getByRole("button", { name: /Delete Shop/ }).click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await expect.poll(() => readdirSync(join(folder, "runs")).length, SLOW).toBe(1);
  expect(mistakes([await served("trends/Shop", "AnswerSource", "answers/source")])).toEqual([]);
});

test("an address without the token is read-only", async () => {
  await page.goto(page.url().replace(/\?token=\w+/, ""));
  await page.getByRole("heading", { name: "Shop" }).waitFor();
  expect(await page.getByRole("button", { name: "Run …" }).count()).toBe(0);
  expect(await page.getByText("This page is read-only").count()).toBe(1);
});

test("a URL is loaded without a test, and an empty folder gets a first test", SLOW, async () => {
  const address = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  // Wrong values are refused in words.
  await page.getByText("Load a URL without a test").click();
  const form = page.getByRole("form", { name: "Load a URL" });
  const url = form.getByLabel("URL", { exact: true });
  const observe = form.getByLabel("Database, cache or metrics");
  await url.fill("ftp://127.0.0.1/");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByRole("alert").filter({ hasText: "only http:// and https://" }).waitFor();
  await url.fill(address);
  await observe.fill("oracle://127.0.0.1/");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByRole("alert").filter({ hasText: "begins with postgres://" }).waitFor();
  expect(await observe.getAttribute("aria-invalid")).toBe("true");
  await observe.fill("");
  await form.getByLabel("Process").fill(new URL(address).port);
  await form.getByLabel("The machine").check();
  await shot("url");
  // Long enough for its live page to open by itself.
  await form.getByLabel("Duration").fill("6s");
  await form.getByRole("button", { name: "Run" }).click();
  await page.waitForURL(/\/live\//, SLOW);
  await expect.poll(() => keys.has(undefined)).toBe(true);
  const signals = () => {
    const files = readdirSync(join(folder, "runs")).map((run) => join(folder, "runs", run, "signals.jsonl"));
    return files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8")).join("");
  };
  await expect.poll(signals).toContain(`process:${new URL(address).port}/cpu`);
  expect(signals()).toContain("host/runnable");
  await page.goBack();
  // Without tests, the same form creates one.
  for (const file of ["shop.load.ts", "broken.load.ts"]) rmSync(join(folder, file));
  await page.getByRole("button", { name: "Create a first test" }).waitFor();
  await url.fill(address);
  await page.getByRole("button", { name: "Create a first test" }).click();
  await page.getByText("first.load.ts").waitFor();
  expect(readFileSync(join(folder, "first.load.ts"), "utf8")).toContain(address.slice(0, -1));
  expect(existsSync(join(folder, "loadstone.d.ts"))).toBe(true);
});
