// The live page with a server that implements its messages: views as server-sent events, controls as POST requests.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { ChartColumn } from "../src/generated/charts.ts";
import type { ReportView } from "../src/generated/report.ts";
import { fixture, launch, pageWith } from "./browser.ts";

const TOKEN = "0123456789abcdef";
const whole = JSON.parse(fixture("findings")) as ReportView;

/** The run after some seconds. */
function after(seconds: number, state: ReportView["test"]["state"] = "running"): ReportView {
  const view = structuredClone(whole);
  view.test.state = state;
  view.test.duration_seconds = seconds;
  view.summary.totals.requests = seconds * 100;
  const { timeline } = view;
  timeline.seconds.length = seconds;
  timeline.heat.steps.length = seconds;
  for (const column of columnsOf(view)) column.values.length = seconds;
  return view;
}

function columnsOf({ timeline }: ReportView): ChartColumn[] {
  return [...timeline.panels, ...timeline.bands.flatMap((band) => band.panels)].flatMap((panel) => panel.columns);
}

/** A live server in thirty lines: the part of crates/report/src/live that the page uses. */
class LiveServer {
  controls: unknown[] = [];
  steering = { paused: false, scale: 1 };
  refuse = "";
  token = TOKEN;
  private open = new Set<ServerResponse>();
  private last: ReportView = after(30);
  private server: Server = createServer((request, response) => void this.answer(request, response));

  async start(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  send(view: ReportView) {
    this.last = view;
    this.event("view", view);
  }

  /** The difference of a second: the view without the steps before `kept`. */
  sendDelta(view: ReportView, kept: number) {
    const { timeline } = view;
    timeline.seconds = timeline.seconds.slice(kept);
    timeline.heat.steps = timeline.heat.steps.slice(kept);
    for (const column of columnsOf(view)) column.values = column.values.slice(kept);
    this.event("delta", { kept, kept_charts: view.request_charts.map(() => 0), view });
  }

  event(name: string, data: unknown) {
    for (const stream of this.open) stream.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Drops every connection, like a failing network. */
  drop() {
    for (const stream of this.open) stream.destroy();
  }

  stop() {
    this.drop();
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer(request: IncomingMessage, response: ServerResponse) {
    if (request.url === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 100\n\n");
      this.open.add(response);
      response.on("close", () => this.open.delete(response));
      this.event("steering", this.steering);
      this.send(this.last);
    } else if (request.url === "/control") {
      let body = "";
      for await (const part of request) body += String(part);
      this.controls.push(JSON.parse(body));
      response.writeHead(this.refuse ? 403 : 204).end(this.refuse);
    } else if (request.url === "/") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end(pageWith(JSON.stringify({ feed: "live", events: "/events", control: "/control", token: this.token })));
    } else response.writeHead(404).end();
  }
}

let browser: Browser;
let server: LiveServer;
let page: Page;
let errors: string[];
beforeAll(async () => { browser = await launch(); });
afterAll(async () => { await browser.close(); });
beforeEach(async () => {
  server = new LiveServer();
  page = await browser.newPage();
  errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(await server.start());
  await page.waitForSelector("#charts canvas");
});
afterEach(async () => {
  await page.close();
  server.stop();
  expect(errors).toEqual([]);
});

const requests = () => page.locator(".headline dd").first();
const interval = () => page.getByTestId("interval");

test("a percentile that is no longer pooled is drawn per second", async () => {
  const picture = () => page.locator('#charts [data-panel="response"] canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  await page.locator("#charts").scrollIntoViewIfNeeded();
  const pooled = after(31);
  const p99 = columnsOf(pooled).find((column) => column.id === "response/p99")!;
  p99.values = p99.values.map((_, i) => p99.values[2 * Math.floor(i / 2)]!);
  p99.pools = p99.values.filter((_, i) => i % 2 === 0).map(() => ({ seconds: 2, samples: 120 }));
  server.send(pooled);
  await page.reload();
  await expect.poll(() => page.locator('#charts [data-panel="response"]').innerText()).toContain("p99 of 2 s");
  const stepped = await picture();
  server.send(after(32));
  await expect.poll(() => requests().innerText()).toBe("3,200");
  await expect.poll(picture).not.toBe(stepped);
  const followed = await picture();
  // The same view in a page that has not seen the pooled one.
  await page.reload();
  await expect.poll(picture).toBe(followed);
});

test("the page follows the run, and shows when it is over", async () => {
  await expect.poll(() => requests().innerText()).toBe("3,000");
  expect(await page.locator("header").innerText()).toContain("Running");
  server.send(after(31));
  await expect.poll(() => requests().innerText()).toBe("3,100");
  await expect.poll(() => interval().innerText()).toBe("0:00 – 0:31");

  server.send(after(60, "completed"));
  await expect.poll(() => page.locator("header").innerText()).toContain("Completed after 1 min");
  expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
});

test("a threshold that fails so far is shown before it is decided", async () => {
  const view = after(31);
  for (const result of view.summary.verdict.thresholds) result.state = "pending";
  server.send(view);
  const answer = page.getByTestId("verdict-thresholds");
  await expect.poll(() => answer.innerText()).toContain("Not yet decided");
  const failing = structuredClone(view);
  failing.summary.verdict.thresholds[3]!.failing = true;
  server.send(failing);
  await expect.poll(() => answer.innerText()).toContain("Failing so far");
  expect(await answer.getAttribute("class")).toContain("warn");
  await answer.click();
  expect(await page.locator("#thresholds-detail li.warn").innerText()).toContain("Failures rate below");
});

test("findings of a run in progress are provisional, and a withdrawn finding is listed", async () => {
  const view = after(31);
  const [finding] = view.summary.verdict.findings.findings;
  const subject = { kind: "whole" } as const;
  const withdrawn = [{ rule: "stall", subject, claim: "Every 10.0 s requests wait for 400 ms", held_seconds: 20, gone_seconds: 25 }];
  server.send({ ...view, provisional: { seconds: 30, withdrawn } });
  const answer = page.getByTestId("verdict-findings");
  await expect.poll(() => answer.innerText()).toContain("2 findings so far");
  await answer.click();
  expect(await page.getByTestId("provisional").innerText()).toContain("from the run up to 0:30");
  expect(await page.getByTestId("finding").first().innerText()).toContain(finding!.claim.slice(0, 20));
  expect(await page.getByTestId("withdrawn").innerText()).toContain("found up to 0:20, withdrawn at 0:25");

  const none = structuredClone(view);
  const text = "No finding so far.";
  none.summary.verdict.findings = { findings: [], remark: { kind: "nothing_so_far", text, statements: [text], summary: text } };
  server.send(none);
  await expect.poll(() => answer.innerText()).toContain("Not yet known");

  server.send(after(60, "completed"));
  await expect.poll(() => answer.innerText()).not.toContain("so far");
  expect(await page.getByTestId("provisional").count()).toBe(0);
});

test("the difference of a second is joined to the previous view", async () => {
  await expect.poll(() => requests().innerText()).toBe("3,000");
  server.sendDelta(after(33), 29);
  await expect.poll(() => requests().innerText()).toBe("3,300");
  await expect.poll(() => interval().innerText()).toBe("0:00 – 0:33");
});

test("a page that is loaded while the run is paused shows it", async () => {
  server.steering = { paused: true, scale: 2 };
  await page.reload();
  await page.getByRole("button", { name: "Resume" }).waitFor();
  expect(await page.getByRole("slider", { name: /Load/ }).inputValue()).toBe("2");
  server.event("steering", { paused: false, scale: 1.5 });
  await page.getByRole("button", { name: "Pause" }).waitFor();
});

test("the zoom is unchanged while new seconds arrive", async () => {
  const handle = page.getByRole("slider", { name: "Start of the visible interval" });
  for (let i = 0; i < 10; i++) await handle.press("Shift+ArrowRight");
  await expect.poll(() => interval().innerText()).toBe("0:15 – 0:30");
  server.send(after(40));
  await expect.poll(() => requests().innerText()).toBe("4,000");
  expect(await interval().innerText()).toBe("0:15 – 0:30");
});

test("the page recovers from a lost connection by itself", async () => {
  await expect.poll(() => requests().innerText()).toBe("3,000");
  server.drop();
  server.send(after(45));
  await expect.poll(() => requests().innerText()).toBe("4,500");
  await expect.poll(() => page.getByText("Connection lost").count()).toBe(0);
});

test("pause, more load and stop reach the run with the page's token", async () => {
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("slider", { name: /Load/ }).fill("1.5");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await expect.poll(() => server.controls).toEqual([
    { token: TOKEN, action: "pause" },
    { token: TOKEN, action: "resume" },
    { token: TOKEN, action: "scale", value: 1.5 },
    { token: TOKEN, action: "stop" },
  ]);
});

test("a page without the token watches and has no controls", async () => {
  server.token = "";
  await page.reload();
  await page.waitForSelector("#charts canvas");
  expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
  expect(await page.locator("header").innerText()).toContain("Running");
});

test("a refusal is shown in the words of the run", async () => {
  server.refuse = "This page is not allowed to steer the run: its token is from another run.";
  await page.getByRole("button", { name: "Pause" }).click();
  await expect.poll(() => page.getByRole("alert").innerText()).toBe(server.refuse);
  expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
});
