// Custom metrics: `metric.trend(…)` and the other kinds. This file builds the data of `plan::DeclaredMetric`; Rust records the values.
import { Metric, SpreadMetric } from "loadstone:thresholds";
import { known, members, name as nameOf, number, perSecond, share, show, tags as tagsOf, whole } from "loadstone:values";

type Kind = "trend" | "counter" | "gauge" | "rate";
interface Spec { name: string; kind: Kind; unit: string }

/** The specs of all metrics of the file, in the order of their declaration. */
export const metrics: Spec[] = [];

const any = (bound: unknown, what: string) => number(bound, what, -Infinity);

/** Records a value, with its tags if it has any. */
function record(own: { place: number; spec: Spec }, value: number, options: any) {
  if (options === undefined) return __loadstone.metric(own.place, value, undefined);
  known(options, ["tags"], `metric "${own.spec.name}"`);
  __loadstone.metric(own.place, value, options.tags);
}

function finite(value: unknown, spec: Spec, min = -Infinity): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < min) {
    throw new TypeError(`metric "${spec.name}": ${show(value)} is not a number${min === 0 ? " of at least 0" : ""}`);
  }
  return value;
}

/** The metric, selector and label of a threshold. */
function thresholdParts(spec: Spec, tags: Record<string, string>): [unknown, unknown, string] {
  const suffix = Object.entries(tags).map(([tag, value]) => ` with ${tag}=${value}`).join("");
  return [{ own: spec }, Object.keys(tags).length > 0 ? { tags } : {}, `${spec.name} {}${suffix}`];
}

function selected(of: any, what: string): Record<string, string> {
  known(of, ["tags"], what);
  return tagsOf(of.tags, what);
}

class Trend extends SpreadMetric {
  constructor(readonly spec: Spec, readonly place: number, tags = {}) { super(...thresholdParts(spec, tags), any); }
  get count() { return this.take("count", "count", whole); }
  where(of: unknown) { return new Trend(this.spec, this.place, selected(of, "where(…)")); }
  add(value: number, options?: unknown) { record(this, finite(value, this.spec), options); }
}

class Counter extends Metric {
  constructor(readonly spec: Spec, readonly place: number, tags = {}) { super(...thresholdParts(spec, tags), (bound, what) => number(bound, what)); }
  get sum() { return this.take("count", "sum"); }
  get rate() { return this.take("rate", "rate", perSecond); }
  where(of: unknown) { return new Counter(this.spec, this.place, selected(of, "where(…)")); }
  add(value: number = 1, options?: unknown) { record(this, finite(value, this.spec, 0), options); }
}

class Gauge extends Metric {
  constructor(readonly spec: Spec, readonly place: number, tags = {}) { super(...thresholdParts(spec, tags), any); }
  get last() { return this.take("last", "last value"); }
  where(of: unknown) { return new Gauge(this.spec, this.place, selected(of, "where(…)")); }
  set(value: number, options?: unknown) { record(this, finite(value, this.spec), options); }
}

class Rate extends Metric {
  constructor(readonly spec: Spec, readonly place: number, tags = {}) { super(...thresholdParts(spec, tags), whole); }
  get count() { return this.take("count", "count"); }
  get rate() { return this.take("rate", "share", share); }
  where(of: unknown) { return new Rate(this.spec, this.place, selected(of, "where(…)")); }
  add(value: boolean, options?: unknown) {
    if (typeof value !== "boolean") throw new TypeError(`metric "${this.spec.name}": ${show(value)} is neither true nor false`);
    record(this, value ? 1 : 0, options);
  }
}

/** A function that declares metrics of one kind. */
function declare<M>(kind: Kind, make: new (spec: Spec, place: number) => M) {
  return (name: string, options: any = {}): M => {
    nameOf(name, `metric.${kind}(…)`);
    known(options, ["unit"], `metric "${name}"`);
    if (options.unit !== undefined) nameOf(options.unit, `metric "${name}" unit`);
    if (metrics.length >= (__loadstone.declared?.metrics ?? Infinity)) {
      throw new Error(`metric "${name}": declare metrics at the top level of the test, outside scenarios`);
    }
    const spec = { name, kind, unit: options.unit ?? "" };
    metrics.push(spec);
    return new make(spec, metrics.length - 1);
  };
}

export const metric = members("metric", {
  trend: declare("trend", Trend),
  counter: declare("counter", Counter),
  gauge: declare("gauge", Gauge),
  rate: declare("rate", Rate),
});
