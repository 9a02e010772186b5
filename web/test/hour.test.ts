// The report of an hour, written by the binary: ten requests, two flows, thirty signals. It must be small, appear at once and zoom smoothly.
//
// The significance of the limits depends on the machine: they are a multiple of the times on an idle machine, which are printed.

import { existsSync, statSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HOUR, launch, type Opened, openFile } from "./browser.ts";

let browser: Browser;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  if (!existsSync(HOUR)) throw new Error(`${HOUR} is not there: make it (cargo run --package loadstone-report --example hour -- target/hour).`);
  browser = await launch();
  opened = await openFile(browser, HOUR);
  page = opened.page;
});
afterAll(async () => {
  expect(opened.complaints).toEqual([]);
  await browser.close();
});

test("an hour is a file of less than 5 MB that is painted at once", async () => {
  const bytes = statSync(HOUR).size;
  expect(bytes).toBeLessThan(5_000_000);
  // The entry appears some time after the paint.
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]!.startTime);
  console.log(`an hour: ${(bytes / 1e6).toFixed(2)} MB, first paint after ${painted.toFixed(0)} ms`);
  expect(painted).toBeLessThan(10_000);
});

test("no chart loses the second that contains a request of five seconds", async () => {
  const times = page.locator('[data-panel="response"]');
  await times.scrollIntoViewIfNeeded();
  await times.locator("canvas").waitFor();
  const view = await page.evaluate(() => JSON.parse(document.getElementById("loadstone-view")!.textContent!));
  const panel = view.timeline.panels.find((one: { id: string }) => one.id === "response");
  const column = panel.columns.find((one: { id: string }) => one.id === "response/max");
  const worst = Math.max(...column.values);
  expect(worst).toBeGreaterThan(5);
  expect(view.timeline.seconds[column.values.indexOf(worst)]).toBe(2100);
  expect(view.timeline.seconds.length).toBeLessThanOrEqual(1200);
});

test("both flows have their charts", async () => {
  for (const flow of ["Confirmation mail", "Delivery"]) {
    await page.getByRole("heading", { name: new RegExp(flow) }).first().scrollIntoViewIfNeeded();
  }
  const first = page.locator('[data-panel^="flow"]').first();
  await first.scrollIntoViewIfNeeded();
  await expect.poll(() => first.locator("canvas").count()).toBe(1);
});

test("the page remains responsive while an hour is zoomed", async () => {
  const plot = page.locator('[data-panel="response"] .plot');
  await plot.scrollIntoViewIfNeeded();
  await plot.locator("canvas").waitFor();
  const worst = await page.evaluate(async () => {
    const plot = document.querySelector<HTMLElement>('[data-panel="response"] .plot')!;
    const frame = () => new Promise<number>((done) => requestAnimationFrame(done));
    let longest = 0;
    for (const key of ["+", "+", "+", "ArrowRight", "+", "-", "-", "-", "-", "+", "Escape"]) {
      await frame();
      const begun = performance.now();
      plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      await frame();
      await frame();
      longest = Math.max(longest, performance.now() - begun);
    }
    return longest;
  });
  console.log(`an hour: the slowest step of zooming took ${worst.toFixed(0)} ms to be drawn`);
  expect(worst).toBeLessThan(3_000);
});
