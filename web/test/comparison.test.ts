// The page of a comparison, in a real browser.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ComparedRow, RunComparison } from "../src/data/comparison";
import { launch, pageWith } from "./browser";

const row = (metric: ComparedRow["metric"], change: Partial<ComparedRow>): ComparedRow => ({
  metric, baseline: 0.02, candidate: 0.0224, change: 1.12, low: 1.083, high: 1.16, verdict: "worse", ...change,
});

const run = (id: string) => ({ id, test: "shop", started: "2026-11-20T18:30:05Z", tags: [], duration_seconds: 300, requests: 15_000, grade: "valid" });

const comparison: RunComparison = {
  baseline: run("2026-11-20T18-30-05-shop"),
  candidate: run("2026-11-20T19-30-05-shop"),
  effect: 0.03,
  false_share: 0.01,
  verdict: "worse",
  headline: "worse: p95 of \"Buy\" is 12 % higher",
  differences: [{ what: "script", baseline: "aa", candidate: "<b>bb</b>", forbids: false, meaning: "the test was edited" }],
  subjects: [
    { kind: "all", name: "all requests", rows: [row("p95", {})] },
    {
      kind: "request", name: "Buy", rows: [row("p95", {}), row("p999", { high: null, verdict: "cannot_tell" })],
      shift: [
        { quantile: 0.5, baseline: 0.01, candidate: 0.011, low: 1.05, high: 1.15 },
        { quantile: 0.99, baseline: 0.03, candidate: 0.04, low: 1.2, high: null },
      ],
    },
  ],
  findings: [],
};

let browser: Browser;
beforeAll(async () => (browser = await launch()));
afterAll(() => browser.close());

it("shows the verdict, every number with its interval, and the shift", async () => {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.setContent(pageWith(JSON.stringify({ feed: "comparison", comparison })));
  await page.getByTestId("verdict").waitFor();
  expect(await page.getByTestId("verdict").textContent()).toBe("Worse");
  // All requests together repeat the only one.
  expect(await page.getByTestId("subject").count()).toBe(1);
  expect(await page.locator("tbody tr").count()).toBe(2);
  expect(await page.locator("td.bar svg").count()).toBe(2);
  expect(await page.locator("figure circle").count()).toBe(2);
  expect(await page.getByText("<b>bb</b>").count()).toBe(1);
  expect(errors).toEqual([]);
});
