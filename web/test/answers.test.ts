// The pages of a trend, a capacity and an experiment, in a real browser.

import { mkdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AnswerSource } from "../src/answers/source.ts";
import { ANSWERS, CAPACITY, EXPERIMENT, RAMP, TREND } from "./answers.ts";
import { launch, type Look, pageWith } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(() => browser.close());

async function shown(source: AnswerSource, look: Look = {}): Promise<Page> {
  const viewport = { width: look.width ?? 1280, height: look.height ?? 900 };
  const page = await browser.newPage({ viewport, colorScheme: look.dark ? "dark" : "light" });
  page.on("pageerror", (error) => { throw error; });
  await page.setContent(pageWith(JSON.stringify(source)));
  await page.getByTestId("verdict").waitFor();
  return page;
}

it("a trend shows each number with its steps, and how to compare the two runs of a step", async () => {
  const page = await shown({ feed: "trend", answer: TREND });
  expect(await page.getByTestId("verdict").innerText()).toContain("rose by 12.1 %");
  expect(await page.getByTestId("change").innerText()).toContain("loadstone compare run-13 run-14");
  expect(await page.getByTestId("series").count()).toBe(4);
  const first = page.getByTestId("series").first();
  expect(await first.locator("circle.point").count()).toBe(24);
  expect(await first.locator("g.mark.bad").count()).toBe(1);
  // The level after the step is higher.
  const [before, after] = await first.locator("line.level").evaluateAll((lines) => lines.map((line) => line.getBoundingClientRect().top));
  expect(after).toBeLessThan(before!);
  await page.close();
});

it("a trend names the ends of its axis, and lists numbers that are the same in every run", async () => {
  const first = TREND.series[0]!;
  const none = { ...first, title: "failures of all requests", level: "0 %", steps: [], points: first.points.map((point) => ({ ...point, y: 0 })) };
  const page = await shown({ feed: "trend", answer: { ...TREND, series: [...TREND.series, none] } });
  expect(await page.getByTestId("series").count()).toBe(TREND.series.length);
  expect(await page.getByTestId("constant").innerText()).toBe("The same in every run: failures of all requests 0 %.");
  expect(await page.getByTestId("series").first().locator(".below").innerText()).toMatch(/oldest run\s*newest run/);
  await page.close();
});

it("a phone shows both values of an experiment's numbers", async () => {
  const page = await shown({ feed: "experiment", answer: EXPERIMENT }, { width: 390, height: 844 });
  expect(await page.getByTestId("contrast").locator("tbody tr").first().innerText()).toContain("310/s → 598/s");
  await page.close();
});

it("a capacity shows the answer, its probes in order, and the bound between them", async () => {
  const page = await shown({ feed: "capacity", answer: CAPACITY });
  expect(await page.getByTestId("verdict").innerText()).toBe("Found");
  expect(await page.getByText("limited by").count()).toBe(1);
  expect(await page.getByTestId("probe").locator("th").allInnerTexts()).toEqual(CAPACITY.probes.map((probe) => expect.stringContaining(probe.load)));
  const picture = page.getByTestId("objective");
  const bound = (await picture.locator("line.bound").boundingBox())!.y;
  for (const [tone, above] of [["bad", true], ["good", false]] as const) {
    const middle = (dots: Element[]) => dots.map((dot) => dot.getBoundingClientRect()).map((box) => box.top + box.height / 2);
    const tops = await picture.locator(`g.mark.${tone} circle`).evaluateAll(middle);
    expect(tops.every((top) => top < bound === above), tone).toBe(true);
  }
  await page.close();
});

it("a ramp shows its measured points and the curve, the ceiling, and where each resource would be full", async () => {
  const page = await shown({ feed: "ramp", answer: RAMP });
  expect(await page.getByTestId("verdict").innerText()).toBe("At most 200/s");
  const picture = page.getByTestId("stretches");
  expect(await picture.locator("circle.stretch").count()).toBe(40);
  // The ceiling is above the points with few requests in the system, and the curve reaches it.
  const box = async (selector: string) => (await picture.locator(selector).first().boundingBox())!;
  expect((await box("rect.ceiling")).y).toBeLessThan((await box("circle.stretch")).y);
  expect((await box("polyline")).y).toBeLessThan((await box("rect.ceiling")).y + 30);
  expect(await page.getByTestId("resource").count()).toBe(2);
  expect(await page.getByTestId("unknown").innerText()).toContain("unknown: it was read in 3 of 40 segments");
  await page.close();
});

it("a ramp without an estimate draws only its measured points", async () => {
  const { ceiling: _, resources: __, ...rest } = RAMP;
  const page = await shown({ feed: "ramp", answer: { ...rest, curve: [], unknown: [], word: "Not identified", tone: "warn" } });
  expect(await page.locator("circle.stretch").count()).toBe(40);
  expect(await page.locator("rect.ceiling, [data-testid=resource]").count()).toBe(0);
  await page.close();
});

it("an experiment shows the proof, the blocks over time, and each ratio with its interval", async () => {
  const page = await shown({ feed: "experiment", answer: EXPERIMENT });
  expect(await page.getByTestId("proof").innerText()).toContain("PROVED");
  expect(await page.getByTestId("course").count()).toBe(2);
  expect(await page.getByTestId("course").first().locator("circle.dot").count()).toBe(8);
  expect(await page.getByTestId("contrast").locator("tbody tr").count()).toBe(4);
  expect(await page.getByTestId("contrast").locator("td.ratio svg").count()).toBe(4);
  expect(await page.getByText("10 sequential round trips").count()).toBe(1);
  await page.close();
});

it.each(ANSWERS.map((source) => [source.feed, source] as const))("a %s fits a phone", async (_, source) => {
  const page = await shown(source, { width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await page.close();
});

it.skipIf(!process.env.LOADSTONE_SHOTS)("pictures", async () => {
  mkdirSync("shots", { recursive: true });
  for (const source of ANSWERS) {
    for (const [name, look] of [["light", {}], ["dark", { dark: true }], ["phone", { width: 360, height: 740 }]] as const) {
      const page = await shown(source, look);
      await page.screenshot({ path: `shots/${source.feed}-${name}.png`, fullPage: true });
      await page.close();
    }
  }
});
