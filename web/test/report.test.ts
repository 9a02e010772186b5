// The finished report: a file on disk, opened in Chromium.

import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fixture, launch, type Look, type Opened, open } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(async () => { await browser.close(); });

/** Opens a report, runs the test, and checks that the page has reported no error and requested nothing. */
async function reading(name: string, look: Look, work: (page: Page, opened: Opened) => Promise<void>) {
  const opened = await open(browser, fixture(name), look);
  try {
    await work(opened.page, opened);
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
}

/** The visible text. Spaces between numbers and units are plain spaces here. */
const text = async (place: Locator) => (await place.innerText()).replaceAll("\u00a0", " ");

const interval = (page: Page) => page.locator("[data-testid=interval]").innerText();

/** The last text of each chart for a screen reader. */
async function cursorTimes(page: Page): Promise<string[]> {
  return page.locator("figure.chart .unseen").allInnerTexts();
}

/** Charts far from the screen are not drawn. */
async function drawn(page: Page, panel: string) {
  const figure = page.locator(`[data-panel="${panel}"]`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator("canvas").waitFor();
}

async function dragAcross(page: Page, panel: string, from: number, to: number) {
  await drawn(page, panel);
  const plot = page.locator(`[data-panel="${panel}"] .u-over`);
  await plot.scrollIntoViewIfNeeded();
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 6 });
  await page.mouse.up();
}

test("an invalid run shows this first, in words, with evidence and advice", () =>
  reading("failing", {}, async (page) => {
    const validity = page.getByTestId("verdict-validity");
    expect(await validity.innerText()).toContain("Invalid");
    expect(await validity.getAttribute("aria-expanded")).toBe("true");
    const worst = page.locator("[data-check]").first();
    expect(await worst.getAttribute("data-check")).toBe("offered-rate");
    expect(await text(worst)).toContain("64.8 % of the arrivals asked for were started");
    expect(await text(worst)).toContain("Limits: suspect below 99 %");
    expect(await page.getByTestId("verdict-findings").innerText()).toContain("Cannot tell");
    expect(await page.title()).toBe("Checkout under the sale's peak · Failed · Loadstone");

    await page.getByTestId("verdict-thresholds").click();
    expect(await text(page.locator("#thresholds-detail"))).toContain("p99 was 812 ms in the worst window");
  }));

test("a healthy run is shown as valid and passed", () =>
  reading("healthy", {}, async (page) => {
    expect(await page.getByTestId("verdict-validity").innerText()).toContain("Valid");
    expect(await page.getByTestId("verdict-thresholds").innerText()).toContain("All 4 thresholds met");
    expect(await page.locator("[data-check]").count()).toBe(0);
    expect(await page.getByText("No request failed.").count()).toBe(1);
  }));

test("the table sorts by its headings, filters, and opens a row", () =>
  reading("hour", {}, async (page) => {
    const names = () => page.locator("[data-testid=row] th button span").evaluateAll((cells) => cells.map((cell) => cell.firstChild?.textContent));
    const view = JSON.parse(fixture("hour"));
    const p95 = (row: { response: { percentiles: { quantile: number; value: number }[] } }) => row.response.percentiles.find((p) => p.quantile === 0.95)!.value;
    const expected = [...view.summary.requests].sort((a, b) => p95(b) - p95(a)).map((row) => row.name);

    expect(await names()).toHaveLength(10);
    await page.getByRole("button", { name: /^Show all \d+$/ }).click();
    await page.locator("#requests").getByRole("button", { name: "p95", exact: true }).click();
    expect(await names()).toEqual(expected);
    await page.locator("#requests").getByRole("button", { name: "p95", exact: true }).click();
    expect(await names()).toEqual(expected.toReversed());

    await page.getByRole("searchbox").fill("hats");
    expect((await names()).every((name) => name?.includes("hats"))).toBe(true);
    await page.locator("[data-testid=row] th button").first().click();
    expect(await page.locator("tr.more").innerText()).toContain("Response");

    await page.getByRole("tab", { name: /Groups/ }).click();
    expect(await page.getByRole("heading", { name: "By group" }).count()).toBe(1);
  }));

test("a drag on one chart zooms all of them, a double click shows the whole run", () =>
  reading("findings", {}, async (page) => {
    expect(await interval(page)).toBe("0:00 – 3:00");
    await dragAcross(page, "response", 0.5, 0.75);
    expect(await interval(page)).toBe("1:30 – 2:15");

    // Every chart reads the common axis: End moves its cursor to the last visible step.
    const plots = page.locator("figure.chart .plot");
    for (let i = 0; i < (await plots.count()); i++) await plots.nth(i).press("End");
    const times = await cursorTimes(page);
    expect(times.length).toBeGreaterThan(12);
    for (const text of times) expect(text).toMatch(/^2:1[34]:/);

    await page.locator('[data-panel="rate"] .u-over').dblclick();
    expect(await interval(page)).toBe("0:00 – 3:00");
  }));

test("keys alone zoom and read a chart", () =>
  reading("findings", {}, async (page) => {
    await drawn(page, "response");
    const plot = page.locator('[data-panel="response"] .plot');
    // A chart loses its cursor while it is laid out.
    const second = async () => {
      await plot.press("Home");
      await plot.press("ArrowRight");
      return page.locator('[data-panel="response"] .unseen').innerText();
    };
    await expect.poll(second).toMatch(/^0:01: p50 .* ms, p90/);
    await plot.press("+");
    expect(await interval(page)).not.toBe("0:00 – 3:00");
    await plot.press("Escape");
    expect(await interval(page)).toBe("0:00 – 3:00");

    const start = page.getByRole("slider", { name: "Start of the visible interval" });
    await start.press("ArrowRight");
    expect(await start.getAttribute("aria-valuetext")).toBe("0:01");
  }));

/** The colours near the top of a chart, before and after the start of the fixture's limit. */
async function pixels(page: Page, panel: string): Promise<number[][]> {
  return page.locator(`[data-panel="${panel}"] canvas`).evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true })!;
    copy.drawImage(canvas as HTMLCanvasElement, 0, 0);
    const at = (x: number) => [...copy.getImageData(Math.round(width * x), Math.round(height * 0.12), 1, 1).data];
    return [at(0.3), at(0.8)];
  });
}

test("the pointer over a finding highlights its interval and series on the charts", () =>
  reading("findings", {}, async (page) => {
    await drawn(page, "users");
    const before = await pixels(page, "users");
    await page.getByTestId("evidence").first().hover();
    const pointed = await pixels(page, "users");
    expect(pointed[0]).toEqual(before[0]);
    expect(pointed[1]).not.toEqual(before[1]);

    await page.getByTestId("evidence").first().getByRole("button").click();
    expect(await page.getByRole("status").innerText()).toContain("A limit of 8 in the shop");
    await page.getByRole("button", { name: "Zoom in" }).click();
    expect(await interval(page)).toBe("1:28 – 3:00");
    await page.keyboard.press("Escape");
    expect(await page.getByRole("button", { name: "Zoom in" }).count()).toBe(0);
    // What is below the pointer depends on how far the page has scrolled by now.
    await page.mouse.move(0, 0);
    await expect.poll(async () => (await pixels(page, "users"))[0]).toEqual(before[0]);
  }));

test("a finding is highlighted from the keyboard, too", () =>
  reading("findings", {}, async (page) => {
    await drawn(page, "users");
    const before = await pixels(page, "users");
    const evidence = page.getByTestId("evidence").first().getByRole("button");
    await evidence.focus();
    const focused = await pixels(page, "users");
    expect(focused[0]).toEqual(before[0]);
    expect(focused[1]).not.toEqual(before[1]);
    await evidence.press("Tab");
    await evidence.focus();
    await evidence.press("Enter");
    expect(await page.getByRole("status").innerText()).toContain("A limit of 8 in the shop");
    await page.keyboard.press("Escape");
    await page.getByTestId("verdict-findings").focus();
    expect(await pixels(page, "users")).toEqual(before);
  }));

test("a finding about the generator opens the generator's folded charts", async () => {
  const view = JSON.parse(fixture("failing"));
  view.summary.verdict.findings.findings = [{
    rule: "generator", subject: { kind: "generator" }, confidence: "high", alternatives: [], next: "",
    claim: "The load generator limits the results, not the target alone",
    evidence: [{ text: "Worker busy share: 97 %", series: ["validity/worker-busy"], from_seconds: 0, to_seconds: 140 }],
  }];
  const { page, complaints, close } = await open(browser, JSON.stringify(view));
  expect(await page.locator('[data-panel="generator"]').count()).toBe(0);
  await page.getByTestId("evidence").getByRole("button").click();
  await expect.poll(() => page.locator('[data-panel="generator"] canvas').count()).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("light and dark follow the system until the reader chooses", async () => {
  const paper = (page: Page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await reading("healthy", { dark: true }, async (page) => {
    expect(await paper(page)).toBe("rgb(15, 21, 25)");
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(() => paper(page)).toBe("rgb(250, 251, 251)");
    await page.getByText("Dark", { exact: true }).click();
    expect(await paper(page)).toBe("rgb(15, 21, 25)");
  });
});

test.each(["failing", "findings", "hour"])("%s fits a phone without scrolling sideways", (name) =>
  reading(name, { width: 390, height: 844 }, async (page) => {
    const links = page.getByTestId("section-bar").getByRole("link");
    const ends = await links.evaluateAll((all) => all.map((link) => link.getBoundingClientRect().right));
    expect(Math.max(...ends), "each link of the section bar is visible").toBeLessThanOrEqual(390);
    for (const id of ["validity", "thresholds", "findings"]) {
      const answer = page.getByTestId(`verdict-${id}`);
      if ((await answer.getAttribute("aria-expanded")) === "false") await answer.click();
      expect(await page.evaluate(() => document.documentElement.scrollWidth), id).toBe(390);
    }
    await page.locator("[data-testid=row] th button").first().click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await drawn(page, "response");
    expect((await page.locator('[data-panel="response"] .u-over').boundingBox())!.width).toBeGreaterThan(250);
  }));

test("the heat map and the folded charts draw", () =>
  reading("findings", {}, async (page) => {
    await page.getByText("Heat map").click();
    await page.getByText("Health of the load generator").click();
    await page.getByText("Requests in flight, connections and bytes").click();
    await page.getByRole("button", { name: /Show \d+ more signals/ }).click();
    for (const figure of await page.locator("figure.chart").all()) {
      await figure.scrollIntoViewIfNeeded();
      await expect.poll(() => figure.locator("canvas").count()).toBe(1);
    }
    expect(await page.locator("figure.chart").count()).toBeGreaterThan(18);
  }));

test("on paper everything is open, in the light theme", () =>
  reading("findings", { dark: true }, async (page) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await page.locator("[data-check]").count()).toBe(9);
    expect(await page.locator("html").getAttribute("data-theme")).toBe("light");
    // Nothing is cut off at the width of an A4 page within its margins, and no page is nearly empty.
    await page.setViewportSize({ width: 703, height: 1000 });
    const cut = () => page.evaluate(() => {
      const beyond = (part: Element) => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".unseen");
      return [...document.querySelectorAll("main *")].filter(beyond).map((part) => part.outerHTML.slice(0, 80));
    });
    // The charts follow the width in later frames.
    await expect.poll(cut).toEqual([]);
    // Verdict, findings, requests and charts; then a new page with the checks and the folded charts.
    const top = async (selector: string) => (await page.locator(selector).first().boundingBox())!.y;
    const tops = await Promise.all(["#verdict", "#findings", "#requests", "#charts", "#distribution", "[data-check]", "[data-panel=generator]"].map(top));
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    expect(await page.locator(".details").evaluate((part) => getComputedStyle(part).breakBefore)).toBe("page");
    expect(await page.locator("#charts [data-panel^=generator]").count()).toBe(0);
    expect(await pages(page, "A4")).toBeLessThan(11);
  }));

const pages = async (page: Page, format: string) => (await page.pdf({ format })).toString("latin1").match(/\/Type \/Page\b/g)!.length;

test.each(["failing", "findings"])("verdict, findings, requests and charts of %s fit on two pages, A4 and Letter", (name) =>
  reading(name, {}, async (page) => {
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.addStyleTag({ content: ".details, .rest { display: none }" });
    await expect.poll(() => page.locator("#charts canvas").count()).toBeGreaterThan(1);
    expect([await pages(page, "A4"), await pages(page, "Letter")]).toEqual([2, 2]);
  }));

test("times are shown since the start, or as the time of day", () =>
  reading("findings", {}, async (page) => {
    const when = page.getByTestId("evidence").first().locator(".when");
    const before = /^(\d+):(\d\d) –/.exec(await text(when))!;
    // The browser's zone is UTC, so only one time of day is offered.
    expect(await page.getByLabel("Times", { exact: true }).locator("option").allInnerTexts()).toEqual(["run time", "UTC"]);
    const started = Date.parse((await page.locator("header time").getAttribute("datetime"))!);
    const expected = new Date(started + (Number(before[1]) * 60 + Number(before[2])) * 1000).toISOString().slice(11, 19);
    // The lines in the logs are found without a change of the setting.
    expect(await text(when)).toMatch(new RegExp(`${expected} – .* UTC`));
    await page.getByLabel("Times", { exact: true }).selectOption("utc");
    expect(await text(when)).toContain(`${expected} – `);
    await page.locator("[data-panel=rate] .plot").focus();
    await page.keyboard.press("ArrowRight");
    expect((await cursorTimes(page)).join("")).toMatch(/\d\d:\d\d:\d\d: /);
  }));

test("foreign text in a view can never become markup", async () => {
  const view = JSON.parse(fixture("healthy"));
  view.test.name = "</script><img src=x onerror=alert(1)>";
  const opened = await open(browser, JSON.stringify(view));
  expect(await opened.page.locator("h1").innerText()).toBe(view.test.name);
  expect(await opened.page.locator("img").count()).toBe(0);
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test("an error shows the responses to its first requests, as text", () =>
  reading("findings", {}, async (page) => {
    const row = page.locator("tr", { hasText: "pool exhausted" });
    const samples = row.locator("details");
    expect(await row.locator("pre").first().isVisible()).toBe(false);
    await samples.locator("summary").click();
    const words = await text(samples);
    expect(words).toContain("Status 503 at 2:00 · body of 14.2 kB");
    expect(words).toContain("retry-after: 2");
    expect(words).toContain("<h1>Pool exhausted</h1><img src=x");
    expect(words).toContain("no body");
    expect(await page.locator("pre img, pre h1").count()).toBe(0);
    expect(await page.title()).not.toContain("taken over");
    const body = row.locator("pre").first();
    expect(await body.evaluate((pre) => pre.scrollHeight > pre.clientHeight)).toBe(true);

    const image = page.locator("tr", { hasText: "expected /^" });
    expect(await text(image)).toContain('found   "12,50 €"');
    await image.locator("summary").click();
    expect(await text(image)).toContain("Status 200 at 1:01 · 20.5 kB of binary data");
  }));

test("a number that the load generator may have increased is marked, with its uncertainty", () =>
  reading("failing", {}, async (page) => {
    const headline = page.locator("section.headline");
    const numbers = await headline.locator("dl > div dd:nth-child(2)").allInnerTexts();
    expect(numbers.map((number) => number.startsWith("~"))).toEqual([false, false, false, false, true, true]);
    expect(await headline.locator("dd", { hasText: "~" }).first().getAttribute("title")).toMatch(/^up to .* of it may not be the target's$/);
    const chip = page.getByTestId("noise");
    expect(await text(chip)).toMatch(/^~ generator noise ≤ [\d.]+ m?s$/);
    const notes = chip.locator("li");
    expect(await notes.first().isVisible()).toBe(false);
    await chip.locator("summary").click();
    expect(await text(notes.first())).toMatch(/^p95 of ".*" was .*, of which the load generator may have added up to .*$/);
    expect(await notes.last().isVisible()).toBe(true);

    const row = page.locator("[data-testid=row]", { hasText: "List products" });
    const titled = (cells: Element[]) => cells.slice(3, 7).map((cell) => [cell.textContent!, cell.getAttribute("title")!] as const);
    const [p50, p95, , max] = await row.locator("td").evaluateAll(titled);
    expect(p50![0]).not.toContain("~");
    expect(p95![0]).toMatch(/^~\d/);
    expect(p95![1]).toContain("may not be the target's");
    expect(max![0]).toMatch(/^≥ ~\d/);
    expect(max![1]).toContain("the longest wait was cut off");
    await row.locator("th button").click();
    const details = page.locator("tr.more tbody tr", { hasText: "Response" });
    expect(await details.locator("td").allInnerTexts()).toContainEqual(p95![0]);
    expect(await page.locator("tr.more tbody tr", { hasText: "Service" }).innerText()).not.toContain("~");
  }));

test("a table shows the resources, and names those that were not observed", () =>
  reading("findings", {}, async (page) => {
    const row = (name: string) => page.getByTestId("resource").filter({ hasText: name });
    const cells = async (name: string) => (await row(name).locator("th, td").allInnerTexts()).map((cell) => cell.replace(/\s+/g, " ").trim());
    expect(await cells("tickets")).toEqual(["ticketspool", "8", "0.94 (11.8 %)", "0", "—", "8 (100 %)", "388", "—"]);
    expect(await cells("event loop")).toEqual(["process:8080event loop", "—", "1.10 ms late", "—", "—", "12.3 ms late", "—", "—"]);
    expect(await cells("its database")).toEqual(["its database", "not observed"]);
    // Only the pool is nearly full, and only at high load.
    expect(await page.locator("#resources td.full").count()).toBe(1);
    expect(await text(page.locator("#resources td.full"))).toContain("8 (100 %)");
    expect(await page.locator("#resources thead").innerText()).toContain("Low load");
    expect(await text(page.locator("#resources"))).toContain("To add more, in the test: observe: [observe.process({ port: 8080 })");
  }));

test("at a load that did not vary, resources have one column of use, and without any there is no table", async () => {
  const view = JSON.parse(fixture("findings"));
  for (const row of view.summary.resources) delete row.low;
  const { page, close } = await open(browser, JSON.stringify(view));
  expect(await page.locator("#resources thead th").allInnerTexts()).toEqual(["Resource", "Limit", "In use", "Waiting", "Errors/s"]);
  await close();
  await reading("healthy", {}, async (page) => expect(await page.locator("#resources").count()).toBe(0));
});

/** The colour at the foot of a chart, at an instant of the run. */
async function foot(page: Page, panel: string, at: number, seconds: number): Promise<number[]> {
  await drawn(page, panel);
  return page.locator(`[data-panel="${panel}"]`).evaluate((figure, share) => {
    const canvas = figure.querySelector("canvas")!;
    const [plot, all] = [figure.querySelector(".u-over")!.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true })!;
    copy.drawImage(canvas, 0, 0);
    return [...copy.getImageData(Math.round(plot.left - all.left + plot.width * share), Math.round(plot.bottom - all.top - 3), 1, 1).data];
  }, at / seconds);
}

test("custom metrics and parts by tags have tables", () =>
  reading("healthy", {}, async (page) => {
    const rows = page.locator("[data-testid=metric]");
    expect(await rows.count()).toBe(5);
    expect(await page.locator("#metrics thead th").allInnerTexts()).toEqual(
      ["Name", "Count", "Sum", "Rate", "Share", "Last", "Mean", "p50", "p95", "p99", "Min", "Max"],
    );
    expect((await text(rows.nth(1))).trim().split(/\s+/)).toEqual(["Orders", "1,200", "1,450", "8.06/s"]);
    expect(await text(rows.nth(3))).toMatch(/^country=DE.*70.5.*52.*190.*—.*6.*310/s);
    const parts = page.locator("[data-testid=tagged]");
    expect(await text(parts.nth(1))).toMatch(/^List products\s+page=later\s+1,800/);
    const plain = JSON.parse(fixture("healthy"));
    delete plain.summary.metrics;
    delete plain.summary.tagged;
    const without = await open(browser, JSON.stringify(plain), {});
    expect(await without.page.locator("#metrics, #tagged").count()).toBe(0);
    await without.close();
  }));

test("a change is shown on the charts and in words; a selected request shows only its own", () =>
  reading("findings", {}, async (page) => {
    const events = page.getByRole("list", { name: "Events" });
    const ink = [77, 91, 103, 255];
    expect(await text(events)).toContain("2:45 Create ticket: p50 312 ms → 641 ms");
    expect(await text(events)).toContain("2:01 Create ticket: failed 0 % → 2.10 % until 2:52");
    expect(await text(events)).toContain("2:45 process:8080/cpu: 41.0 % → 62.0 %");
    expect(await page.locator(".overview .mark.change").count()).toBe(10);
    await events.getByRole("button", { name: "2 more changes" }).click();
    expect(await events.locator(".change").count()).toBe(10);
    expect(await foot(page, "users", 165, 180)).toEqual(ink);
    expect(await foot(page, "users", 161, 180)).not.toEqual(ink);

    await page.getByTitle("Show only List products on the charts").click();
    expect(await events.locator(".change").count()).toBe(0);
    await expect.poll(() => foot(page, "users", 165, 180)).not.toEqual(ink);
    await page.getByTitle("Show only Activate ticket on the charts").click();
    expect(await events.locator(".change").allInnerTexts()).toEqual(["2:45 Activate ticket: p50 224 ms → 151 ms"]);
    await expect.poll(() => foot(page, "users", 165, 180)).toEqual(ink);
    await events.locator(".change button").click();
    expect(await interval(page)).toBe("2:30 – 3:00");
  }));

test("queueing, retried requests, and failures by a step are shown", () =>
  reading("findings", {}, async (page) => {
    await page.locator("[data-testid=row]", { hasText: "Create ticket" }).locator("th button").click();
    const more = page.locator("tr.more");
    expect(await text(more)).toContain("queue");
    expect(await text(more)).toContain("3, unprocessed by the server at first");
    expect(await text(page.locator("section.facts"))).toContain("3 unprocessed requests resent");
    expect(await text(page.locator(".key"))).toContain("waiting for a connection");
    await page.getByRole("tab", { name: /Groups/ }).click();
    await page.locator("[data-testid=row] th button").click();
    expect(await text(more)).toContain("a step failed");
  }));

test("a page without a run shows a remedy", async () => {
  const opened = await browser.newPage();
  await opened.goto(new URL("../dist/index.html", import.meta.url).href);
  expect(await opened.getByRole("alert").innerText()).toContain("Recreate it with `loadstone report`");
  await opened.close();
});

test("a request that is selected in the table replaces all others on the charts", () =>
  reading("healthy", {}, async (page) => {
    const pick = page.locator("button.pick").first();
    const name = await pick.getAttribute("title");
    await pick.click();
    expect(await pick.getAttribute("aria-pressed")).toBe("true");
    expect(await text(page.locator("#charts .picked"))).toContain(name!.replace("Show only ", "").replace(" on the charts", ""));
    await drawn(page, "response");
    expect(await page.locator('#charts [data-panel="phases"]').count()).toBe(0);
    await page.getByRole("button", { name: "Show all requests" }).click();
    await drawn(page, "phases");
  }));

test("a threshold that the load generator leaves undecided is neither met nor failed", async () => {
  const view = JSON.parse(fixture("healthy"));
  const [, result] = view.summary.verdict.thresholds;
  result.state = "undecided";
  result.reading = "p99 was 251 ms";
  result.detail = "p99 was 251 ms, bound 250 ms; cannot be decided: the generator may have added up to 9.00 ms";
  const { page, complaints, close } = await open(browser, JSON.stringify(view));
  const answer = page.getByTestId("verdict-thresholds");
  expect(await text(answer)).toContain("Undecided");
  expect(await text(answer)).toContain(`1 of 4 thresholds: ${result.threshold.label} · p99 was 251 ms`);
  expect(await answer.getAttribute("class")).toContain("warn");
  await answer.click();
  const item = page.locator("#thresholds-detail li", { hasText: result.threshold.label });
  expect(await item.getAttribute("class")).toContain("warn");
  expect(await text(item)).toContain("the generator may have added up to 9.00 ms");
  expect(complaints).toEqual([]);
  await close();
});

test("the first screen has the verdict and the chart of the run, then come findings, requests and all charts", () =>
  reading("findings", {}, async (page) => {
    const places = ["section.verdict", "[data-testid=main-chart]", "#findings", "#requests", "#charts"];
    const tops = await Promise.all(places.map(async (place) => (await page.locator(place).boundingBox())!.y));
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    const chart = (await page.getByTestId("main-chart").boundingBox())!;
    expect(chart.y + chart.height).toBeLessThan(900);
    await page.locator("[data-testid=main-chart] canvas").waitFor();
    // Each line belongs to one of two axes.
    const linesOf = (name: string) => text(page.getByRole("list", { name: `Lines of the chart: ${name}` }));
    expect(await linesOf("Response time")).toMatch(/\(left\)[^]*p50[^]*p99/);
    expect(await linesOf("Rate")).toMatch(/\(right\)[^]*asked/);
    // The bar remains at the top, and its links lead to the sections.
    await page.getByTestId("section-bar").getByRole("link", { name: "Charts" }).click();
    await expect.poll(async () => (await page.locator("#charts").boundingBox())!.y).toBeLessThan(120);
    expect((await page.getByTestId("section-bar").boundingBox())!.y).toBeLessThan(2);
  }));

test("the filter of requests decides what all charts show, and a row opens its own section", () =>
  reading("findings", {}, async (page) => {
    await page.getByTestId("section-bar").getByLabel("Charts of").selectOption({ label: "Create ticket" });
    expect(await text(page.getByTestId("main-chart"))).toContain("Create ticket");
    expect(await text(page.locator("#charts .picked"))).toContain("Create ticket");
    const row = page.locator("[data-testid=row]", { hasText: "List products" });
    await row.locator("th button").click();
    expect(await text(page.getByTestId("main-chart"))).toContain("List products");
    const section = page.getByTestId("request-section");
    await section.locator("canvas").first().waitFor();
    expect(await text(section)).toContain("Errors");
    // Higher percentiles are further to the right, and never lower.
    const places = await section.getByTestId("percentile-curve").locator("circle").evaluateAll((dots) =>
      dots.map((dot) => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))]));
    expect(places.length).toBeGreaterThan(2);
    for (let i = 1; i < places.length; i++) {
      expect(places[i]![0]).toBeGreaterThan(places[i - 1]![0]!);
      expect(places[i]![1]).toBeLessThanOrEqual(places[i - 1]![1]!);
    }
  }));

test.each([390, 1280])("no line of the histogram runs through a label, %i pixels wide", async (width) => {
  const view = JSON.parse(fixture("findings"));
  const bars = view.distribution as [from: number, to: number, count: number][];
  // p95 and p99 are near the right end.
  for (const [at, share] of [[0.5, 0.1], [0.95, 0.86], [0.99, 0.97]] as const) {
    const percentile = view.summary.response.percentiles.find((one: { quantile: number }) => one.quantile === at);
    percentile.value = bars[0]![0] * (bars.at(-1)![1] / bars[0]![0]) ** share;
  }
  const { page, complaints, close } = await open(browser, JSON.stringify(view), { width });
  const crossed = await page.locator("#distribution svg").first().evaluate((svg) => {
    const labels = [...svg.querySelectorAll<SVGTextElement>("text.name")].map((label) => ({ text: label.textContent, box: label.getBBox() }));
    const lines = [...svg.querySelectorAll("line.marker")].map((line) => [Number(line.getAttribute("x1")), Number(line.getAttribute("y1"))] as const);
    const through = labels.filter(({ box }) => lines.some(([x, y]) => box.x < x && x < box.x + box.width && y < box.y + box.height));
    const overlap = labels.filter(({ box }, i) => labels.some((other, j) =>
      i !== j && box.x < other.box.x + other.box.width && other.box.x < box.x + box.width && Math.abs(box.y - other.box.y) < 8));
    const cut = labels.filter(({ box }) => box.x < 0 || box.x + box.width > svg.clientWidth);
    return [...through, ...overlap, ...cut].map((label) => label.text);
  });
  expect(crossed).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("a request that breaks a threshold is first, and marked", async () => {
  const view = JSON.parse(fixture("hour"));
  const broken = view.summary.requests.at(-1).name;
  const [result] = view.summary.verdict.thresholds;
  const threshold = { ...result.threshold, selector: { name: broken, scenario: null, group: null } };
  view.summary.verdict.thresholds = [{ ...result, state: "failed", threshold }];
  const { page, complaints, close } = await open(browser, JSON.stringify(view));
  expect(await text(page.locator("[data-testid=row]").first())).toContain(broken);
  expect(await text(page.locator("[data-testid=row]").first())).toContain("breaks its threshold");
  expect(complaints).toEqual([]);
  await close();
});

test("a flame graph shows where the CPU time goes, can be searched and enlarged, and its table reads the same", () =>
  reading("findings", {}, async (page) => {
    const section = page.locator("#profile");
    await section.scrollIntoViewIfNeeded();
    const whole = "A request takes 16.4 ms of CPU time in “node:8080” while work waits, and 9.30 ms while nothing does.";
    expect(await text(section.locator("p").first())).toContain(whole);
    const frames = section.locator("svg g.frame");
    const wide = (name: string) => section.locator(`svg g.frame[name="${name}"] rect`).evaluate((rect) => rect.getBoundingClientRect().width);
    await expect.poll(async () => (await wide("hash crypto.mjs:8")) / (await wide("node:8080"))).toBeCloseTo(9.4 / 16.4, 2);
    const title = await section.locator('svg g.frame[name="hash crypto.mjs:8"] title').textContent();
    expect(title).toMatch(/9\.40 ms of each request, 57\.3 %; \+6\.30 ms while work waits/);
    const rows = section.getByTestId("function");
    expect(await text(rows.first())).toMatch(/hash crypto\.mjs:8\s*below createTicket tickets\.mjs:14\s+6\.20 ms\s+3\.10 ms\s+9\.40 ms\s+\+6\.30 ms/);

    await section.getByRole("searchbox").fill("createticket");
    await section.getByText(/65\.9\s%\s*of the time/).waitFor();
    // A search term that is no valid pattern is matched literally.
    await section.getByRole("searchbox").fill("hash (");
    await section.getByText(/0\s%\s*of the time/).waitFor();
    await section.getByRole("searchbox").fill("");

    const before = await frames.count();
    await section.locator('svg g.frame[name="createTicket tickets.mjs:14"]').click();
    await expect.poll(async () => (await wide("createTicket tickets.mjs:14")) / (await wide("node:8080"))).toBeCloseTo(1, 2);
    await section.getByRole("button", { name: "Show all" }).click();
    await expect.poll(() => frames.count()).toBe(before);
    await expect.poll(async () => (await wide("hash crypto.mjs:8")) / (await wide("node:8080"))).toBeCloseTo(9.4 / 16.4, 2);
  }));
