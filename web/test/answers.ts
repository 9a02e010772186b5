// Answers in the server's format, for the tests and the pictures.

import type { AnswerSource } from "../src/answers/source";
import type { CapacityView, ExperimentRowView, ExperimentView, RampView, TrendView } from "../src/generated/answers.ts";
import type { ComparedRow, ComparedRun, RunComparison } from "../src/generated/comparison.ts";

const wave = (i: number) => Math.sin(i * 2.399) * 0.5 + Math.sin(i * 1.1) * 0.3;

const ROSE = "rose by 12.1 % (9.0 % to 15.3 %), from 38.2 ms to 42.8 ms";

function series(title: string, step: number | null): TrendView["series"][number] {
  const count = 24;
  const levels = step === null
    ? [{ from: 0, to: 1, low: 0.3, at: 0.5, high: 0.7 }]
    : [{ from: 0, to: step / count, low: 0.16, at: 0.24, high: 0.32 }, { from: step / count, to: 1, low: 0.66, at: 0.76, high: 0.86 }];
  const level = (run: number) => (step === null ? 0.5 : run < step ? 0.24 : 0.76);
  return {
    title, level: "42.8 ms", noise: "± 2.10 %",
    ticks: [{ at: 0.1, text: "38 ms" }, { at: 0.5, text: "40 ms" }, { at: 0.9, text: "42 ms" }],
    points: Array.from({ length: count }, (_, run) => ({ run, y: level(run) + 0.07 * wave(run), text: `run-${run}: 40.0 ms` })),
    levels,
    steps: step === null ? [] : [{ x: step / count, text: `${title} ${ROSE}`, tone: "bad", before: `run-${step - 1}`, run: `run-${step}` }],
  };
}

export const TREND: TrendView = {
  test: "shop",
  headline: "p95 of \"Buy\" rose by 12.1 % (9.0 % to 15.3 %), from 38.2 ms to 42.8 ms with 2026-11-20T18-30-05-shop, and 1 more",
  promise: "6 numbers in 24 runs. If the test never changed, at most 5 % of such histories show any step.",
  changes: [{
    before: "run-13", run: "run-14", place: "2026-11-20T18-30-05-shop [v1.4], commit 39dbcdc (before: c021bae)",
    steps: [{ text: "p95 of \"Buy\" rose by 12.1 % (9.0 % to 15.3 %), from 38.2 ms to 42.8 ms", tone: "bad" }],
  }],
  runs: Array.from({ length: 24 }, (_, i) => ({ id: `run-${i}`, x: (i + 0.5) / 24 })),
  series: [series("p95 of \"Buy\"", 14), series("p50 of \"Buy\"", 14), series("p99 of all requests", null), series("p95 of all requests", null)],
};

const probe = (load: string, x: number, holds: boolean, measured: string): CapacityView["probes"][number] => ({
  load, x, word: holds ? "holds" : "fails", tone: holds ? "good" : "bad", length: "1 min 0 s", run: `probe-${load}`, measured: [measured],
  findings: holds ? [] : ["\"Check out\" waits for the shop's database pool: 4 connections, all busy."],
});

export const CAPACITY: CapacityView = {
  test: "shop", word: "FOUND", tone: "good", headline: "the capacity is 113/s (95 % interval 111/s to 117/s)",
  facts: [
    ["must hold", "p99 < 300ms and failures < 1%"], ["fails first", "p99 < 300ms"],
    ["limited by", "\"Check out\" waits for the shop's database pool (run-120)"],
  ],
  limit_run: "run-120", cost: "6 probes in 7 min 12 s",
  loads: [{ at: 0.2, text: "50/s" }, { at: 0.55, text: "100/s" }, { at: 0.9, text: "200/s" }],
  answer: { low: 0.6, at: 0.62, high: 0.645 },
  probes: [
    probe("28/s", 0.05, true, "41.0 ms (39.2 ms to 43.0 ms)"), probe("56/s", 0.25, true, "52.1 ms (50.0 ms to 55.0 ms)"),
    probe("112/s", 0.61, true, "281 ms (250 ms to 310 ms)"), probe("224/s", 0.95, false, "4.10 s (above 3.20 s)"),
    probe("118/s", 0.65, false, "390 ms (330 ms to 480 ms)"), probe("108/s", 0.585, true, "212 ms (190 ms to 240 ms)"),
  ],
  objectives: [{
    title: "p99 < 300ms", ticks: [{ at: 0.25, text: "100 ms" }, { at: 0.6, text: "1 s" }], bound: 0.42,
    marks: [
      { x: 0.05, low: 0.08, at: 0.1, high: 0.12, tone: "good", text: "28/s holds: 41.0 ms" },
      { x: 0.25, low: 0.13, at: 0.15, high: 0.17, tone: "good", text: "56/s holds" },
      { x: 0.61, low: 0.37, at: 0.41, high: 0.44, tone: "good", text: "112/s holds" },
      { x: 0.95, low: 0.78, at: 0.85, high: 1, tone: "bad", text: "224/s fails" },
      { x: 0.65, low: 0.44, at: 0.48, high: 0.53, tone: "bad", text: "118/s fails" },
      { x: 0.585, low: 0.33, at: 0.36, high: 0.39, tone: "good", text: "108/s holds" },
    ],
  }],
};

/** A throughput curve that approaches 0.75. */
const bent = (x: number) => 0.75 * (1 - Math.exp(-4 * x));

export const RAMP: RampView = {
  test: "shop", run: "2026-11-20T18-30-05-shop", word: "At most 200/s", tone: "none",
  headline: "This kind of load cannot exceed this throughput (95 % interval 194/s to 206/s). Times rise well before it.",
  facts: [
    ["sustained", "198/s, for a fifth of the load"], ["limited by", "\"Check out\" waits for the shop's database pool"],
    ["what if", "without the 8 members of the pool \"db\" at most about 475/s (450/s to 500/s), an upper bound: there the 2 cores of \"shop\" would be full"],
  ],
  inside: [{ at: 0.1, text: "1" }, { at: 0.5, text: "10" }, { at: 0.9, text: "100" }],
  throughputs: [{ at: 0, text: "0/s" }, { at: 0.37, text: "100/s" }, { at: 0.74, text: "200/s" }],
  ceiling: { low: 0.71, at: 0.74, high: 0.77 },
  stretches: Array.from({ length: 40 }, (_, i) => ({ x: 0.04 + 0.023 * i, y: bent(0.04 + 0.023 * i) + 0.02 * wave(i), text: `stretch ${i}` })),
  curve: Array.from({ length: 80 }, (_, i) => [i / 79, bent(i / 79)]),
  resources: {
    ticks: [{ at: 0.2, text: "200/s" }, { at: 0.8, text: "500/s" }], seen: 0.19,
    rows: [
      { what: "the 8 members of the pool \"db\"", full_at: "201/s (196/s to 207/s)", bar: { low: 0.18, at: 0.21, high: 0.24 } },
      { what: "the 2 cores of \"shop\"", full_at: "475/s (450/s to 500/s)", bar: { low: 0.7, at: 0.75, high: 0.8 } },
    ],
  },
  unknown: [["the disk sda", "it was read in 3 of 40 segments"]],
};

const row = (metric: string, decides: boolean, bar: [number, number, number], more: Partial<ExperimentRowView> = {}): ExperimentRowView => ({
  metric, decides, from: "121 ms", to: "63.3 ms", change: "× 0.52", interval: "× 0.49 to × 0.56", verdict: "better", tone: "good" as const, why: "",
  bar: { low: bar[0], at: bar[1], high: bar[2] }, ...more,
});

export const EXPERIMENT: ExperimentView = {
  test: "experiment.load.ts", knob: "pool", values: ["4", "8"], word: "BETTER", tone: "good",
  headline: "p95 of \"Check out\" 121 ms → 63.3 ms (× 0.52, 0.49 to 0.56), rate 310/s → 598/s (× 1.93, 1.86 to 2.00)",
  how: "4 rounds with blocks of 10 s, the first 1 s of each left out; decided", remarks: ["response times had not settled at the end of a block"],
  proof: {
    word: "PROVED", tone: "good", claim: "\"Check out\" waits for one of 4 connections", because: "with 8 in place of 4, p95 of \"Check out\" is halved.",
  },
  contrasts: [{
    title: "pool 4 → 8", word: "BETTER", tone: "good", headline: "p95 of \"Check out\" halves",
    subjects: [
      { title: "All requests", rows: [row("rate", true, [0.88, 0.93, 0.97], { change: "× 1.93", interval: "× 1.86 to × 2.00", from: "310/s", to: "598/s" })] },
      {
        title: "Check out",
        rows: [
          row("p50", false, [0.06, 0.1, 0.14]), row("p95", true, [0.08, 0.12, 0.17]),
          row("p99", false, [0.3, 0.47, 0.6], { verdict: "cannot tell (needs 9 rounds)", tone: "none", change: "× 0.96" }),
        ],
      },
    ],
  }],
  ratios: [{ at: 0.12, text: "× 0.5" }, { at: 0.5, text: "× 1" }, { at: 0.88, text: "× 2" }],
  same: { low: 0.43, at: 0.5, high: 0.57 },
  sensitivities: ["each ms of delay adds 9.80 ms to \"Check out\" (9.70 to 10.10): 10 sequential round trips"],
  blocks: [0, 1, 1, 0, 0, 1, 1, 0].map((value, i) => ({ value, round: Math.floor(i / 2) + 1, x: (i + 0.5) / 8, run: `block-${i}`, text: `block ${i}` })),
  courses: ["rate of all requests", "p95 of Check out"].map((title, course) => ({
    title, ticks: [{ at: 0.2, text: course ? "60 ms" : "300/s" }, { at: 0.8, text: course ? "120 ms" : "600/s" }],
    points: [0, 1, 1, 0, 0, 1, 1, 0].map((value, block) => ({ block, y: (value === course ? 0.2 : 0.8) + 0.05 * wave(block), text: `block ${block}` })),
  })),
  promise: "Rows marked • decide. The 95 % intervals remain valid when they are checked repeatedly.",
};

const compared = (metric: ComparedRow["metric"], change: Partial<ComparedRow>): ComparedRow => ({
  metric, baseline: 0.02, candidate: 0.0224, change: 1.12, low: 1.083, high: 1.16, p: 0.001, verdict: "worse", ...change,
});

const comparedRun = (id: string): ComparedRun => ({
  id, test: "shop", started: "2026-11-20T18:30:05Z", tags: [], duration_seconds: 300, requests: 15_000, grade: "valid",
});

export const COMPARISON: RunComparison = {
  schema: 1,
  baseline: comparedRun("2026-11-20T18-30-05-shop"),
  candidate: comparedRun("2026-11-20T19-30-05-shop"),
  effect: 0.03,
  false_share: 0.01,
  verdict: "worse",
  headline: "p95 of \"Buy\" is 12 % higher",
  differences: [{ what: "script", baseline: "aa", candidate: "<b>bb</b>", forbids: false, meaning: "the test was edited" }],
  subjects: [
    { kind: "all", name: "all requests", rows: [compared("p95", {})] },
    {
      kind: "request", name: "Buy", rows: [compared("p95", {}), compared("p999", { high: null, verdict: "cannot_tell" })],
      shift: [
        { quantile: 0.5, baseline: 0.01, candidate: 0.011, low: 1.05, high: 1.15 },
        { quantile: 0.99, baseline: 0.03, candidate: 0.04, low: 1.2, high: null },
      ],
    },
  ],
  findings: [],
};

export const ANSWERS: AnswerSource[] = [
  { feed: "comparison", answer: COMPARISON }, { feed: "trend", answer: TREND }, { feed: "capacity", answer: CAPACITY },
  { feed: "ramp", answer: RAMP }, { feed: "experiment", answer: EXPERIMENT },
];
