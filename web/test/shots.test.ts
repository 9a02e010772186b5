// Pictures of the page in its states, for visual inspection: `npm run shots`, then open shots/. LOADSTONE_SHOTS selects them by name.

import { mkdirSync } from "node:fs";
import { expect, test } from "vitest";
import { fixture, launch, type Look, open } from "./browser.ts";

const SHOTS: [name: string, fixture: string, look: Look][] = [
  ["healthy-light", "healthy", {}],
  ["findings-light", "findings", {}],
  ["findings-dark", "findings", { dark: true }],
  ["failing-light", "failing", {}],
  ["failing-phone", "failing", { width: 360, height: 740 }],
  ["findings-phone-dark", "findings", { width: 360, height: 740, dark: true }],
  ["hour-dark", "hour", { dark: true }],
];

const wanted = process.env.LOADSTONE_SHOTS;

test.skipIf(!wanted)("pictures", async () => {
  mkdirSync("shots", { recursive: true });
  const browser = await launch();
  for (const [name, view, look] of SHOTS.filter(([name]) => wanted === "all" || name.includes(wanted!))) {
    const opened = await open(browser, fixture(view), look);
    await opened.page.waitForTimeout(300);
    await opened.page.screenshot({ path: `shots/${name}.png`, fullPage: true });
    expect(opened.complaints, name).toEqual([]);
    await opened.close();
  }
  await browser.close();
}, 120_000);
