// A real Chromium that opens a report from disk.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** The browser to test with: LOADSTONE_CHROMIUM, or the first of the usual names on the path. */
export function chromiumPath(): string {
  if (process.env.LOADSTONE_CHROMIUM) return process.env.LOADSTONE_CHROMIUM;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // The next name.
    }
  }
  throw new Error("No Chromium found. Install Debian's `chromium`, or set LOADSTONE_CHROMIUM to the path of one.");
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ARGUMENTS });
}

/** The report of an hour, written by the binary. */
export const HOUR = process.env.LOADSTONE_HOUR ?? fileURLToPath(new URL("../../target/hour/report.html", import.meta.url));

/** The views of recorded runs, written by an example of the report crate. */
const CORPUS = process.env.LOADSTONE_CORPUS ?? fileURLToPath(new URL("../../target/corpus", import.meta.url));

/** The view of a recorded run. */
export function recorded(name: string): string {
  return readFileSync(join(CORPUS, `${name}.json`), "utf8");
}

const BUILT = new URL("../dist/index.html", import.meta.url);

/** The page with a view, escaped like in Rust. */
export function pageWith(json: string): string {
  return readFileSync(BUILT, "utf8").replace("__LOADSTONE_VIEW__", () => json.replaceAll("<", "\\u003c"));
}

export function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), "utf8");
}

export interface Opened {
  page: Page;
  context: BrowserContext;
  /** Must remain empty: errors on the console, and requests. */
  complaints: string[];
  close(): Promise<void>;
}

export interface Look {
  width?: number;
  height?: number;
  dark?: boolean;
}

/** Opens a new file in a new context. */
export async function open(browser: Browser, json: string, look: Look = {}): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "loadstone-report-"));
  const file = join(folder, "report.html");
  writeFileSync(file, pageWith(json));
  const opened = await openFile(browser, file, look);
  return { ...opened, close: async () => { await opened.close(); rmSync(folder, { recursive: true }); } };
}

/** Opens a report on disk. */
export async function openFile(browser: Browser, file: string, look: Look = {}): Promise<Opened> {
  const viewport = { width: look.width ?? 1280, height: look.height ?? 900 };
  const context = await browser.newContext({ viewport, colorScheme: look.dark ? "dark" : "light", timezoneId: "UTC", locale: "en-GB" });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) complaints.push(`request: ${request.url()}`); });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("#charts .plot");
  return { page, context, complaints, close: () => context.close() };
}
