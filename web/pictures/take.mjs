// Takes the pictures of docs/images from the present binary: `npm run pictures`, or by name, `npm run pictures -- ui ui-form`. LOADSTONE_BINARY is
// the path of the binary. It should be a release build on a quiet machine, because the pictures show its numbers.

import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BINARY = process.env.LOADSTONE_BINARY ?? here("../../target/release/loadstone");
const wanted = process.argv.slice(2);
const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
const started = [];

/** Starts the binary in a folder; returns the first address in its output. */
async function start(folder, ...given) {
  const child = spawn(BINARY, given, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  started.push(child);
  for await (const line of createInterface(child.stderr)) {
    const address = /http:[^\s,]+/.exec(line)?.[0];
    if (address) return address.replace(/\.$/, "");
  }
  throw new Error(`loadstone ${given.join(" ")} ended without telling an address`);
}

/** Runs the binary to its end. */
const finish = (folder, ...given) => new Promise((done) => spawn(BINARY, given, { cwd: folder, stdio: "ignore" }).once("exit", done));

const folder = mkdtempSync(join(tmpdir(), "loadstone-pictures-"));
const browser = await chromium.launch({ executablePath: process.env.LOADSTONE_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const open = async (address, width, height) => {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light", locale: "en-GB" });
  await page.goto(address);
  return page;
};
const take = async (page, name) => {
  // The initial state: at the top, without a pointer.
  await page.mouse.move(0, 0);
  await page.evaluate(() => { document.activeElement.blur(); window.scrollTo({ top: 0, behavior: "instant" }); });
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: here(`../../docs/images/${name}.png`) });
  console.log(`docs/images/${name}.png`);
};

/** The report of the demo. */
async function report() {
  await finish(folder, "demo", "--runs", "demo-runs");
  const [run] = readdirSync(join(folder, "demo-runs"));
  const page = await open(pathToFileURL(join(folder, "demo-runs", run, "report.html")).href, 1280, 1500);
  await page.waitForSelector("#charts .plot");
  await take(page, "report");
}

/** The ui: a finished run, a running one, a waiting one; and the form of a test. */
async function ui() {
  const shop = await start(folder, "demo", "--serve", "127.0.0.1:0");
  for (const test of ["demo", "stairs"]) copyFileSync(here(`../../examples/${test}.load.ts`), join(folder, `${test}.load.ts`));
  await finish(folder, "run", "demo.load.ts", "-p", `target=${shop}`, "--tag", "nightly");
  const home = await start(folder, "ui", "--listen", "127.0.0.1:0");
  const page = await open(home, 1180, 860);
  const tests = page.getByRole("region", { name: "Tests" });
  const form = async (name, runTime) => {
    await tests.getByRole("listitem").filter({ hasText: name }).getByRole("button", { name: "Run …" }).click();
    await page.getByLabel("target").fill(shop);
    await page.getByLabel("runTime").fill(runTime);
  };
  await page.locator("[data-run]").waitFor();
  await form("demo shop", "30s");
  if (isWanted("ui-form")) await take(page, "ui-form");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  // The run's live page opens by itself.
  await page.getByText("Running").waitFor({ timeout: 60_000 });
  await page.goto(home);
  await page.getByText("is running").waitFor({ timeout: 60_000 });
  await form("demo shop", "15s");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("is waiting").waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "Watch" }).waitFor({ timeout: 60_000 });
  if (isWanted("ui")) await take(page, "ui");
}

try {
  if (isWanted("report")) await report();
  if (isWanted("ui") || isWanted("ui-form")) await ui();
} finally {
  await browser.close();
  for (const child of started) child.kill("SIGTERM");
  rmSync(folder, { recursive: true });
}
