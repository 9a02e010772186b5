// The pictures of docs/images/findings: what the present page draws for the example of each rule, a recorded run. `npm run gallery` writes them.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { launch, open, recorded } from "./browser.ts";
import { pictureOf } from "./gallery.ts";

const FOLDER = fileURLToPath(new URL("../../docs/images/findings", import.meta.url));
const isWriting = process.env.UPDATE_GALLERY !== undefined;

test("the gallery of findings shows what the page draws for the recorded runs", async () => {
  const rules: { page: string; claim: string }[] = JSON.parse(recorded("rules"));
  mkdirSync(FOLDER, { recursive: true });
  const browser = await launch();
  const stale: string[] = [];
  const drawn = new Set<string>();
  try {
    for (const { page, claim } of rules) {
      const opened = await open(browser, recorded(`rule.${page}`), { width: 700 });
      const number = JSON.parse(recorded(`rule.${page}`)).summary.verdict.findings.findings.findIndex((one: { claim: string }) => one.claim === claim);
      expect(number, `${page}: ${claim}`).toBeGreaterThanOrEqual(0);
      const picture = await pictureOf(opened.page.getByTestId("finding").nth(number));
      expect(opened.complaints, page).toEqual([]);
      await opened.close();
      if (picture === null) continue;
      const file = `${FOLDER}/${page}.svg`;
      drawn.add(`${page}.svg`);
      if (existsSync(file) && readFileSync(file, "utf8") === picture) continue;
      stale.push(page);
      if (isWriting) writeFileSync(file, picture);
    }
  } finally {
    await browser.close();
  }
  const surplus = readdirSync(FOLDER).filter((name) => !drawn.has(name));
  if (isWriting) surplus.forEach((name) => rmSync(`${FOLDER}/${name}`));
  else expect([...stale, ...surplus], "`npm run gallery` writes them").toEqual([]);
}, 180_000);
