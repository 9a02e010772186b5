// The page of a comparison, in a real browser.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { COMPARISON } from "./answers";
import { fixture, launch, open, pageWith } from "./browser";

let browser: Browser;
beforeAll(async () => (browser = await launch()));
afterAll(() => browser.close());

it("shows the verdict, every number with its interval, and the shift", async () => {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: COMPARISON })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("verdict").textContent()).toBe("Worse");
  // All requests together repeat the only request.
  expect(await page.getByTestId("subject").count()).toBe(1);
  expect(await page.locator("tbody tr").count()).toBe(2);
  expect(await page.locator("td.bar svg").count()).toBe(2);
  expect(await page.locator("figure circle").count()).toBe(2);
  expect(await page.getByText("<b>bb</b>").count()).toBe(1);
  expect(errors).toEqual([]);
});

it("a phone shows each interval as text, and the shift in readable labels", async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: COMPARISON })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.locator("td.bar").first().isVisible()).toBe(false);
  const intervals = page.locator("td small.interval");
  expect(await intervals.first().isVisible()).toBe(true);
  expect(await intervals.first().innerText()).toContain(" to ");
  const heights = await page.locator("figure text").evaluateAll((texts) => texts.map((text) => text.getBoundingClientRect().height));
  expect(Math.min(...heights)).toBeGreaterThan(10);
  const shift = [{ quantile: 0.5, baseline: 0.001, candidate: 3, low: 2900, high: 3100 }];
  const grown = { ...COMPARISON, subjects: COMPARISON.subjects.map((one) => ({ ...one, shift })) };
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: grown })));
  const ends = page.locator("figure text[text-anchor=end]");
  expect(await ends.allTextContents()).toEqual(["× 10,000", "× 1", "× 1/10,000"]);
  const figure = (await page.locator("figure").boundingBox())!;
  for (const end of await ends.all()) expect((await end.boundingBox())!.x).toBeGreaterThanOrEqual(figure.x - 1);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

it("a run that was compared with a baseline shows what changed, and folds the rest", async () => {
  const view = { ...JSON.parse(fixture("healthy")), comparison: COMPARISON };
  const { page, complaints, close } = await open(browser, JSON.stringify(view));
  const section = page.locator("#baseline");
  expect(await section.locator("> table tbody tr").count()).toBeGreaterThan(0);
  expect(await section.locator("> table tbody tr:not(.worse, .better)").count()).toBe(0);
  const folded = section.locator("details tbody tr");
  if ((await folded.count()) > 0) expect(await folded.first().isVisible()).toBe(false);
  expect(complaints).toEqual([]);
  await close();
});

it("a run that cannot be compared shows the differences alone", async () => {
  const view = { ...JSON.parse(fixture("healthy")), comparison: { ...COMPARISON, verdict: "not_comparable" } };
  const { page, close } = await open(browser, JSON.stringify(view));
  expect(await page.locator("#baseline table").count()).toBe(0);
  await close();
});

it("the page of runs that cannot be compared shows the numbers on request only", async () => {
  const page = await browser.newPage();
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: { ...COMPARISON, verdict: "not_comparable" } })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("subject").count()).toBe(0);
  await page.getByRole("button", { name: "Show the numbers anyway" }).click();
  expect(await page.getByTestId("subject").count()).toBe(1);
});

it("subjects without a change are folded, and the worst rows are first", async () => {
  const [first] = COMPARISON.subjects.filter((subject) => subject.kind === "request");
  const calm = { ...first!, name: "List", rows: first!.rows.map((row) => ({ ...row, verdict: "same" as const })) };
  const row = first!.rows[0]!;
  const mixed = { ...first!, rows: [{ ...row, verdict: "cannot_tell" as const }, { ...row, metric: "p99" as const, verdict: "worse" as const }] };
  const page = await browser.newPage();
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: { ...COMPARISON, subjects: [calm, mixed] } })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("subject").first().locator("th.name[scope]").allInnerTexts()).toEqual(["p99", expect.any(String)]);
  expect(await page.getByRole("heading", { name: "List" }).isVisible()).toBe(false);
  await page.getByText("List: no decided change").click();
  expect(await page.getByRole("heading", { name: "List" }).isVisible()).toBe(true);
});

it("two runs without a difference say so, and percentiles without samples are left out", async () => {
  const rare = { metric: "p90" as const, baseline: null, candidate: null };
  const subjects = COMPARISON.subjects.map((one) => ({ ...one, rows: [...one.rows, { ...one.rows[0]!, ...rare }] }));
  const page = await browser.newPage();
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", answer: { ...COMPARISON, subjects, differences: [] } })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByText("Same test, parameters, load and machine").isVisible()).toBe(true);
  expect(await page.locator("tbody th").allInnerTexts()).not.toContain("p90");
});
