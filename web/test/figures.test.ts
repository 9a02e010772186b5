// Recorded runs with different kinds of findings: what a picture draws is where its sentence says. The numbers are read from the sentence and from the
// drawing, independently.

import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launch, open, recorded } from "./browser.ts";

let browser: Browser;
beforeAll(async () => { browser = await launch(); });
afterAll(async () => { await browser.close(); });

interface Drawn {
  /** Levels by label: the value at the height at which the line is drawn, by the ticks of the axis. */
  levels: Record<string, number>;
  /** The mean of a column where a level applies, as drawn. */
  means: Record<string, number>;
  columns: string[];
  labels: string[];
}

/** Reads the picture like a reader: heights between the ticks of the axis. */
async function read(figure: Locator): Promise<Drawn> {
  return figure.evaluate((node) => {
    const svg = node.querySelector("svg")!;
    const number = (node: Element, name: string) => Number(node.getAttribute(name));
    const ticks = [...svg.querySelectorAll("[data-tick]")].map((tick) => [number(tick, "data-tick"), number(tick, "y1")] as const);
    const [[a, ya], [b, yb]] = [ticks[0]!, ticks.at(-1)!];
    const valueAt = (y: number) => a + ((y - ya) / (yb - ya)) * (b - a);
    const points = (path: Element) => [...path.getAttribute("d")!.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
    const levels: Record<string, number> = {};
    const means: Record<string, number> = {};
    const columns = [...svg.querySelectorAll("[data-column]")];
    for (const line of svg.querySelectorAll("[data-line][data-value]")) {
      const label = line.getAttribute("data-line")!;
      const [[from, y], [to]] = [points(line)[0]!, points(line).at(-1)!];
      levels[label] = valueAt(y!);
      for (const column of columns) {
        // Each value is a horizontal piece from the start of its step to the end.
        const pieces = points(column);
        let [sum, length] = [0, 0];
        for (let i = 0; i + 1 < pieces.length; i += 2) {
          const [[x0, y0], [x1]] = [pieces[i]!, pieces[i + 1]!];
          if (x0 < from! - 0.2 || x1! > to! + 0.2) continue;
          sum += valueAt(y0) * (x1! - x0);
          length += x1! - x0;
        }
        means[`${label} ${column.getAttribute("data-column")}`] = sum / length;
      }
    }
    const labels = [...svg.querySelectorAll(".name")].map((one) => one.textContent!);
    return { levels, means, columns: columns.map((column) => column.getAttribute("data-column")!), labels };
  });
}

interface Case {
  run: string;
  rule: string;
  /** Reads the numbers from the sentence. */
  sentence: RegExp;
  /** The label of each number, and its unit in those of the axis. */
  levels: [label: string, unit: number][];
  /** The column that must be at the level where the level applies, and how close its mean is. */
  at: [label: string, column: string, within: number];
  /** Index of the evidence. */
  evidence?: number;
  figure?: number;
}

const CASES: Case[] = [
  {
    run: "redis.mutex.gross.ramp.nothing.1", rule: "effective-concurrency", sentence: /stopped at ([\d.]+)\/s/,
    levels: [["stopped at", 1]], at: ["stopped at", "rate/requests", 0.1],
  },
  {
    run: "node.pool.gross.ramp.process.1", rule: "effective-concurrency", sentence: /stopped at ([\d.]+)\/s/,
    levels: [["stopped at", 1]], at: ["stopped at", "rate/requests", 0.1], evidence: 1,
  },
  {
    run: "nginx.rate-limit-delaying.plain.closed.process.1", rule: "rate-limit", sentence: /stopped at ([\d.]+)\/s/,
    levels: [["stopped at", 1]], at: ["stopped at", "rate/requests", 0.1],
  },
  {
    run: "nginx.rate-limit-refusing.gross.ramp.nothing.1", rule: "rate-limit", sentence: /([\d.]+) other requests per second/,
    levels: [["accepted", 1]], at: ["accepted", "rate/passed", 0.1],
  },
  {
    run: "chain.slow-provider-later.gross.constant.nothing.1", rule: "change", sentence: /p50 ([\d.]+) ms → ([\d.]+) s/,
    levels: [["before", 1e-3], ["after", 1]], at: ["after", "service/p50", 0.15],
  },
  {
    run: "chain.errors-of-one.plain.constant.all.1", rule: "failures", sentence: /: ([\d.]+) %/,
    levels: [["failed", 0.01]], at: ["failed", "failures/share", 0.2],
  },
  {
    run: "python.errors-later.gross.ramp.nothing.1", rule: "failures", sentence: /: ([\d.]+) %/,
    levels: [["failed", 0.01]], at: ["failed", "failures/share", 0.1],
  },
  {
    run: "redis.cache-stampede.gross.constant.nothing.1", rule: "periodic-stall", sentence: /took ([\d.]+) s in these seconds and ([\d.]+) ms in others/,
    levels: [["longest", 1], ["in other seconds", 1e-3]], at: ["longest", "response/max", 1],
  },
  {
    run: "node.many-commits.plain.ramp.all.1", rule: "connection-pool", sentence: /was ([\d.]+) on average/,
    levels: [["on average", 1]], at: ["on average", "signal/prometheus/db_pool_waiting", 0.1],
  },
  {
    run: "node.many-commits.plain.ramp.all.1", rule: "commits", sentence: /^([\d.]+) commits per second/,
    levels: [["on average", 1]], at: ["on average", "signal/postgres/commits", 0.1], evidence: 1,
  },
  {
    run: "node.row-lock.gross.ramp.all.1", rule: "database-waits", sentence: /^([\d.]+) sessions/,
    levels: [["on average", 1]], at: ["on average", "signal/postgres/sessions{wait=Lock:transactionid}", 0.1],
  },
  {
    run: "go.unreturned-connections.plain.constant.all.1", rule: "unanswered", sentence: /longer than ([\d.]+) ms/,
    levels: [["longest that ended", 1e-3]], at: ["longest that ended", "response/max", 1],
  },
  {
    run: "chain.large-bodies.gross.ramp.nothing.1", rule: "bandwidth", sentence: /took ([\d.]+) s instead of ([\d.]+) ms/,
    levels: [["under load", 1], ["before", 1e-3]], at: ["under load", "phases/body", 0.15],
  },
  {
    run: "rule.cpu", rule: "cpu", sentence: /the busiest thread ([\d.]+);/,
    levels: [["limit", 1]], at: ["limit", "signal/process:8080/busiest_thread", 0.1],
  },
  {
    run: "rule.event-loop", rule: "event-loop", sentence: /was ([\d.]+) % on average/,
    levels: [["on average", 0.01]], at: ["on average", "signal/node:80/busy", 0.01],
  },
  {
    run: "rule.runtime-work", rule: "runtime-work", sentence: /was ([\d.]+) on average/,
    levels: [["on average", 1]], at: ["on average", "signal/node:80/work{type=look-ups of names}", 0.1],
  },
  {
    run: "rule.thread-waits", rule: "thread-waits", sentence: /^([\d.]+) of/,
    levels: [["on average", 1]], at: ["on average", "signal/jvm:80/threads{threads=exec,at=HikariPool.getConnection,under=PaymentDao.insert}", 0.1],
  },
  {
    run: "rule.lock", rule: "connection-pool", sentence: /at most ([\d.]+) at once/,
    levels: [["at most", 1]], at: ["at most", "signal/stub:subscriber/in_flight_max", 0.1],
  },
  {
    run: "rule.queue-workers", rule: "queue-workers", sentence: /; ([\d.]+) jobs waited on average in the first third of the stretch, and ([\d.]+) in the last/,
    levels: [["first third", 1], ["last third", 1]], at: ["last third", "signal/redis/celery_waiting{queue=celery}", 0.1],
  },
  {
    run: "rule.queue-workers", rule: "queue-workers", sentence: /^([\d.]+) jobs were in progress/,
    levels: [["in progress", 1]], at: ["in progress", "signal/redis/celery_unacknowledged", 0.1], figure: 1,
  },
  {
    run: "rule.cpu-growth", rule: "cpu-growth", sentence: /this is ([\d.]+) instead of ([\d.]+) cores/,
    levels: [["while work waits", 1], ["without the growth", 1]],
    at: ["while work waits", "signal/node:80/function_cpu{function=lookup node:dns,under=send statsd.mjs:4 ← decide shop.mjs:9}", 0.25],
  },
  {
    run: "rule.span-growth", rule: "span-growth", sentence: /per request: ([\d.]+) µs → ([\d.]+) ms/,
    levels: [["low load", 1e-6], ["high load", 1e-3]], at: ["high load", "spans/before/4", 0.15], figure: 1,
  },
  {
    run: "rule.dependency-path", rule: "dependency-path", sentence: /^([\d.]+) sessions were idle in a transaction on average, and ([\d.]+) before/,
    levels: [["after", 1], ["before", 1]], at: ["after", "signal/postgres/SessionsIdleInTransaction", 0.1],
  },
  {
    run: "rule.dependency-path", rule: "dependency-path", sentence: /went from ([\d.]+) ms to ([\d.]+) ms/,
    levels: [["before", 1e-3], ["after", 1e-3]], at: ["after", "service/p50", 0.1], evidence: 1,
  },
  {
    run: "rule.new-connections", rule: "new-connections", sentence: /took ([\d.]+) ms per request/,
    levels: [["on average", 1e-3]], at: ["on average", "phases/connect", 1],
  },
  {
    run: "rule.generator", rule: "generator", sentence: /may have added up to ([\d.]+) ms/,
    levels: [["may be added", 1e-3]], at: ["may be added", "generator_lag/read_max", 5],
  },
  {
    run: "rule.slow-stage", rule: "slow-stage", sentence: /started ([\d.]+)\/s.* finish ([\d.]+)\/s/,
    levels: [["started", 1], ["finished", 1]], at: ["finished", "flow/E-mail/rate/finished", 0.1],
  },
];

test.each(CASES)("$rule of $run draws the numbers of its sentence", async ({ run, rule, sentence, levels, at, evidence = 0, figure = 0 }) => {
  const opened = await open(browser, recorded(run));
  try {
    const { page } = opened;
    const finding = page.getByTestId("finding").filter({ has: page.locator(".rule", { hasText: new RegExp(`^${rule}$`) }) }).first();
    const one = finding.getByTestId("evidence").nth(evidence);
    const text = (await one.innerText()).replaceAll("\u00a0", " ");
    const numbers = text.match(sentence)?.slice(1).map(Number);
    expect(numbers, text).toHaveLength(levels.length);
    const drawn = await read(one.getByTestId("evidence-figure").nth(figure));
    levels.forEach(([label, unit], i) => {
      // The sentence has three digits, and the drawing a tenth of a pixel.
      const value = numbers![i]! * unit;
      const top = Math.max(...Object.values(drawn.levels), ...Object.values(drawn.means).filter(Number.isFinite));
      expect(Math.abs(drawn.levels[label]! - value), `${label}: ${JSON.stringify(drawn)}`).toBeLessThan(0.01 * value + 0.004 * top);
      expect(drawn.labels.some((shown) => shown.startsWith(label))).toBe(true);
    });
    const [label, column, within] = at;
    expect(drawn.columns).toContain(column);
    const mean = drawn.means[`${label} ${column}`]!;
    expect(Math.abs(mean - drawn.levels[label]!), `${label}: ${JSON.stringify(drawn.means)}`).toBeLessThanOrEqual(within * drawn.levels[label]! + 1e-9);
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
});

test.each([
  ["go.slow-provider-share.plain.constant.nothing.1", "two-kinds", /take ([\d.]+) ms, the others ([\d.]+) ms/],
  ["nginx.slow-instance.plain.constant.nothing.1", "slow-part", /take ([\d.]+) ms, the others ([\d.]+) ms/],
])("%s: the humps of the distribution are at the two times of the sentence", async (run, rule, sentence) => {
  const opened = await open(browser, recorded(run));
  try {
    const { page } = opened;
    const finding = page.getByTestId("finding").filter({ has: page.locator(".rule", { hasText: rule }) }).first();
    const [slow, others] = (await finding.innerText()).replaceAll("\u00a0", " ").match(sentence)!.slice(1).map((ms) => Number(ms) / 1e3);
    const humps = await finding.getByTestId("evidence-times").first().evaluate((figure) => {
      const number = (node: Element, name: string) => Number(node.getAttribute(name));
      const bars = [...figure.querySelectorAll("rect[data-count]")].map((bar) => ({
        from: number(bar, "data-from"), to: number(bar, "data-to"), count: number(bar, "data-count"), x: number(bar, "x"), width: number(bar, "width"),
      }));
      return [...figure.querySelectorAll("[data-mark]")].map((mark) => {
        const x = Number(mark.getAttribute("x1"));
        const near = bars.filter((bar) => bar.x - 30 <= x && x <= bar.x + bar.width + 30);
        return {
          label: mark.getAttribute("data-mark")!, value: number(mark, "data-value"), near: near.reduce((sum, bar) => sum + bar.count, 0),
          under: bars.find((bar) => bar.x - 1 <= x && x <= bar.x + bar.width + 1) ?? null,
        };
      });
    });
    const of = (label: string) => humps.find((hump) => hump.label === label)!;
    expect(Math.abs(of("slow ones").value - slow!)).toBeLessThan(0.01 * slow!);
    expect(Math.abs(of("the others").value - others!)).toBeLessThan(0.01 * others!);
    for (const hump of humps) {
      expect(hump.near).toBeGreaterThan(5);
      // The bar below the mark covers its time.
      expect(hump.under!.from).toBeLessThanOrEqual(hump.value * 1.02);
      expect(hump.under!.to).toBeGreaterThanOrEqual(hump.value * 0.98);
    }
    expect(opened.complaints).toEqual([]);
  } finally {
    await opened.close();
  }
});

/** First and last value of a line that is no level, by the ticks of its picture. */
async function ends(figure: Locator, label: string): Promise<[number, number]> {
  return figure.evaluate((node, label) => {
    const ticks = [...node.querySelectorAll("[data-tick]")].map((tick) => [Number(tick.getAttribute("data-tick")), Number(tick.getAttribute("y1"))] as const);
    const [[a, ya], [b, yb]] = [ticks[0]!, ticks.at(-1)!];
    const line = [...node.querySelectorAll("[data-line]")].find((one) => one.getAttribute("data-line") === label)!;
    const heights = [...line.getAttribute("d")!.matchAll(/[ML]-?[\d.]+ (-?[\d.]+)/g)].map(([, y]) => a + ((Number(y) - ya) / (yb - ya)) * (b - a));
    return [heights[0]!, heights.at(-1)!];
  }, label);
}

test.each([
  ["memory-per-connection", "by the number of connections", 0, /grew from ([\d.]+) to ([\d.]+) MB/, 1e6, 0.05],
  ["slow-stage", "grows", 1, /, ()([\d.]+) before "generated"/, 1, 0.02],
] as const)("%s draws its growth up to the end that the sentence states", async (rule, label, evidence, sentence, unit, within) => {
  const opened = await open(browser, recorded(`rule.${rule}`));
  try {
    const finding = opened.page.getByTestId("finding").filter({ has: opened.page.locator(".rule", { hasText: new RegExp(`^${rule}$`) }) }).first();
    const one = finding.getByTestId("evidence").nth(evidence);
    const [from, to] = (await one.innerText()).replaceAll("\u00a0", " ").match(sentence)!.slice(1).map((text) => Number(text) * unit);
    const drawn = await ends(one.getByTestId("evidence-figure").first(), label);
    expect(Math.abs(drawn[1] - to!), `${drawn} ${to}`).toBeLessThan(within * to!);
    if (from) expect(Math.abs(drawn[0] - from), `${drawn} ${from}`).toBeLessThan(within * to!);
    expect(drawn[1]).toBeGreaterThan(2 * drawn[0]);
  } finally {
    await opened.close();
  }
});

test("stale-address draws no lookup after the change", async () => {
  const opened = await open(browser, recorded("rule.stale-address"));
  try {
    const drawn = await read(opened.page.getByTestId("evidence-figure").first());
    expect(drawn.columns).toEqual(["signal/stub:dns/lookups{name=statsd.test}"]);
    expect(drawn.levels["after the change"]).toBeCloseTo(0, 6);
    expect(drawn.means["after the change signal/stub:dns/lookups{name=statsd.test}"]).toBeCloseTo(0, 6);
  } finally {
    await opened.close();
  }
});

test("a piece of evidence shows its request on the charts", async () => {
  const opened = await open(browser, recorded("node.pool.gross.ramp.process.1"));
  try {
    const { page } = opened;
    await page.getByTestId("finding").first().getByTestId("evidence").nth(1).getByRole("button", { name: "Show on the charts" }).click();
    await expect.poll(() => page.locator("#charts .picked").innerText()).toContain("Buy");
  } finally {
    await opened.close();
  }
});
