// axe's rules for WCAG 2.2 AA, over the report in its states: both themes, a phone, everything open.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fixture, launch, type Look, open } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(async () => { await browser.close(); });

const LOOKS: [fixture: string, look: string, Look][] = [
  ["healthy", "light", {}],
  ["findings", "light", {}],
  ["findings", "dark", { dark: true }],
  ["failing", "dark", { dark: true }],
  ["failing", "on a phone", { width: 390, height: 844 }],
];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

test.each(LOOKS)("axe finds nothing in %s, %s", async (name, _, look) => {
  const opened = await open(browser, fixture(name), look);
  try {
    const { page } = opened;
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
    await page.locator("[data-testid=row] th button").first().click();
    await page.evaluate(AXE);
    const violations = await page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run(options: unknown): Promise<{ violations: Violation[] }> } };
      return (await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })).violations;
    });
    const found = violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
    expect(found).toEqual([]);
  } finally {
    await opened.close();
  }
});
