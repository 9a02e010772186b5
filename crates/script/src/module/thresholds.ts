// Thresholds: a metric, an aggregate of it, and a bound. This file builds the data of `plan::Threshold`.
import { name, nanoseconds, number, perSecond, share, show, tags, whole, wholeSeconds, known, strict } from "loadstone:values";

type Read = (bound: unknown, what: string) => number;
const WORDS: Record<string, string> = { below: "below", at_most: "at most", above: "above", at_least: "at least", equals: "equal to" };

export class Threshold {
  readonly kind = "threshold";
  constructor(readonly plan: any) {}

  private changed(change: object, words: string): Threshold {
    return new Threshold({ ...this.plan, ...change, label: `${this.plan.label}${words}` });
  }
  over(window: string) { return this.changed({ window: { every: { seconds: wholeSeconds(window, "over(…)") } } }, ` over ${window}`); }
  after(warmUp: string) { return this.changed({ after_seconds: wholeSeconds(warmUp, "after(…)") }, ` after ${warmUp}`); }
  abortEarly() { return this.changed({ abort: true }, ""); }
}

class Bounds {
  constructor(readonly plan: any, readonly label: string, readonly read: Read) {}

  private bound(comparison: string, bound: unknown): Threshold {
    const value = this.read(bound, `${this.label} ${WORDS[comparison]}`);
    const label = `${this.label} ${WORDS[comparison]} ${bound}`;
    return new Threshold({ ...this.plan, bound: { comparison, value }, window: "whole_run", after_seconds: 0, abort: false, label });
  }
  below(bound: unknown) { return this.bound("below", bound); }
  atMost(bound: unknown) { return this.bound("at_most", bound); }
  above(bound: unknown) { return this.bound("above", bound); }
  atLeast(bound: unknown) { return this.bound("at_least", bound); }
  equals(bound: unknown) { return this.bound("equals", bound); }
}

export class Metric {
  constructor(readonly metric: unknown, readonly selector: any, readonly label: string, readonly read: Read) {}

  protected take(aggregate: unknown, word: string, read = this.read): Bounds {
    return new Bounds({ metric: this.metric, selector: this.selector, aggregate }, this.label.replace("{}", word), read);
  }
  get mean() { return this.take("mean", "mean"); }
  get min() { return this.take("min", "minimum"); }
  get max() { return this.take("max", "maximum"); }
}

/** Metrics with a distribution: times, and values that are read or recorded repeatedly. */
export class SpreadMetric extends Metric {
  percentile(percent: number): Bounds {
    number(percent, "percentile(…)");
    if (percent <= 0 || percent >= 100) throw new RangeError(`percentile(…): a percentile must be between 0 and 100, not ${percent}`);
    return this.take({ quantile: Math.round(percent * 1e7) / 1e9 }, `p${percent}`);
  }
  get p50() { return this.percentile(50); }
  get p75() { return this.percentile(75); }
  get p90() { return this.percentile(90); }
  get p95() { return this.percentile(95); }
  get p99() { return this.percentile(99); }
  get p999() { return this.percentile(99.9); }
}

/** Metrics that are part of a whole: their count, and their share of it. */
class PartMetric extends Metric {
  constructor(metric: unknown, selector: any, label: string) {
    super(metric, selector, label, (bound, what) => whole(bound, what));
  }
  get count() { return this.take("count", "count"); }
  get rate() { return this.take("rate", "share", share); }
}

class CountMetric extends Metric {
  constructor(metric: unknown, selector: any, label: string, readonly relative: Read, readonly relativeWord: string) {
    super(metric, selector, label, (bound, what) => whole(bound, what));
  }
  get count() { return this.take("count", "count"); }
  get rate() { return this.take("rate", this.relativeWord, this.relative); }
}

/** A level at the end of each second. */
class LevelMetric extends Metric {
  get last() { return this.take("last", "last value"); }
}

/** Readings of a signal. */
class SignalMetric extends SpreadMetric {
  get last() { return this.take("last", "last value"); }
}

strict(Threshold, Bounds, Metric);

function select(of: unknown): any {
  if (of === undefined) return {};
  if (typeof of === "string") return { name: name(of, "the name of the measured metric") };
  if (of === null || typeof of !== "object") throw new TypeError(`${show(of)} selects nothing: write a name, or { name, scenario, group, tags }`);
  known(of, ["name", "scenario", "group", "tags"], "selection");
  return "tags" in of ? { ...of, tags: tags(of.tags, "selection") } : { ...of };
}

/** ` of "x" in group "y"`. */
function words(selector: any): string {
  const parts = [];
  if (selector.name !== undefined) parts.push(` of "${selector.name}"`);
  if (selector.group !== undefined) parts.push(` in group "${selector.group}"`);
  if (selector.scenario !== undefined) parts.push(` in scenario "${selector.scenario}"`);
  for (const [tag, value] of Object.entries(selector.tags ?? {})) parts.push(` with ${tag}=${value}`);
  return parts.join("");
}

/** Of a flow, by the object or its name. */
function ofFlow(of: unknown, what: string): string {
  return name(of !== null && typeof of === "object" && "name" in of ? of.name : of, what);
}

const seconds: Read = (bound, what) => nanoseconds(bound, what) / 1e9;

function time(metric: string, word: string) {
  return (of?: unknown) => {
    const selector = select(of);
    return new SpreadMetric(metric, selector, `${word} {}${words(selector)}`, seconds);
  };
}

export const responseTime = time("response_time", "response time");
export const serviceTime = time("service_time", "service time");
export const scheduleLag = time("schedule_lag", "schedule lag");
export const iterationDuration = (of?: unknown) => {
  const selector = select(ofScenario(of, "iterationDuration(…)"));
  return new SpreadMetric("iteration_time", selector, `iteration duration {}${words(selector)}`, seconds);
};
export const groupTime = (of: string) => new SpreadMetric("group_time", { name: name(of, "groupTime(…)") }, `time {} of group "${of}"`, seconds);

function part(metric: string, word: string, of: unknown) {
  const selector = select(of);
  return new PartMetric(metric, selector, `${word} {}${words(selector)}`);
}

/** Of a scenario, by its name or a selection. */
function ofScenario(of: unknown, what: string): unknown {
  return typeof of === "string" ? { scenario: name(of, what) } : of;
}

function count(metric: string, word: string, relative: Read, relativeWord: string) {
  return (of?: unknown) => {
    const selector = select(of);
    return new CountMetric(metric, selector, `${word} {}${words(selector)}`, relative, relativeWord);
  };
}

class IterationMetric extends CountMetric {
  get failed() { return new PartMetric("failed_iterations", this.selector, `failed iterations {}${words(this.selector)}`); }
}

class CheckMetric extends Metric {
  get count() { return this.take("count", "count"); }
  get passed() { return new PartMetric("passed_checks", this.selector, `passed checks {}${words(this.selector)}`); }
  get failed() { return new PartMetric("failed_checks", this.selector, `failed checks {}${words(this.selector)}`); }
  get rate(): never {
    throw new TypeError("checks().rate is ambiguous: write checks().failed.rate.below(\"1%\") or checks().passed.rate.above(\"99%\")");
  }
}

export const requests = count("requests", "requests", perSecond, "rate");
export const failures = (of?: unknown) => part("failures", "failures", of);
export const scriptErrors = (of?: unknown) => part("script_errors", "script errors", ofScenario(of, "scriptErrors(…)"));
export const checks = (of?: unknown) => {
  const selector = select(of);
  return new CheckMetric("checks", selector, `checks {}${words(selector)}`, (bound, what) => whole(bound, what));
};
export const flowTime = (of: unknown, stage?: string) => {
  const flow = ofFlow(of, "flowTime(…)");
  const until = stage === undefined ? "" : ` until "${name(stage, "flowTime(…) stage")}"`;
  return new SpreadMetric({ flow_time: { stage: stage ?? null } }, { name: flow }, `time {} of flow "${flow}"${until}`, seconds);
};
export const flowBacklog = (of: unknown) => {
  const flow = ofFlow(of, "flowBacklog(…)");
  return new LevelMetric("flow_backlog", { name: flow }, `open journeys {} of flow "${flow}"`, (bound, what) => whole(bound, what));
};
export const flowLost = (of: unknown) => {
  const flow = ofFlow(of, "flowLost(…)");
  return new PartMetric("flow_lost", { name: flow }, `lost journeys {} of flow "${flow}"`);
};
export const iterationCount = (of?: unknown) => {
  const selector = select(ofScenario(of, "iterations(…)"));
  return new IterationMetric("iterations", selector, `iterations {}${words(selector)}`, perSecond, "rate");
};

/** A run fails if a script throws, unless the test has its own threshold for it. `thresholds`: those of the test. */
export function withImplied(thresholds: any[]): any[] {
  if (thresholds.some((threshold) => threshold.metric === "script_errors")) return thresholds;
  return [...thresholds, { ...scriptErrors().count.equals(0).plan, label: "no script errors (implied)" }];
}
export const signal = (of: string) =>
  new SignalMetric({ signal: { name: name(of, "signal(…)") } }, {}, `signal "${of}" {}`, (bound, what) => number(bound, what, -Infinity));
