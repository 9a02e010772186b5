// The page of a comparison, in a real browser.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { COMPARISON } from "./answers";
import { launch, pageWith } from "./browser";

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
