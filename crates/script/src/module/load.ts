// Load profiles and the load tree. This file builds the data of `plan::Load` in its serialised form.
import { members, name as nameOf, nanoseconds, number, perSecond, show, strict, whole, known, knownIn } from "loadstone:values";
import { iterationCount } from "loadstone:thresholds";

interface StepRange { from: number; to: number; by: number }

abstract class Profile {
  graceful: number | null = null;
  users_max: number | null = null;
  after_ns = 0;
  abstract readonly kind: string;
  abstract plan(): unknown;
  abstract copy(): this;

  gracefulStop(duration: string): this {
    const profile = this.copy();
    profile.graceful = nanoseconds(duration, "gracefulStop(…)");
    return profile;
  }

  startAfter(delay: string): this {
    const profile = this.copy();
    profile.after_ns = nanoseconds(delay, "startAfter(…)");
    return profile;
  }

  /** Copies this profile's settings, without its stages, to a profile of the same kind. */
  protected as<P extends Profile>(profile: P): P {
    return Object.assign(profile, { graceful: this.graceful, users_max: this.users_max, after_ns: this.after_ns });
  }
}

class OpenProfile extends Profile {
  readonly kind = "open";
  constructor(readonly stages: any[]) { super(); }

  plan() { return { open: { stages: this.stages } }; }
  copy(): this { return this.as(new OpenProfile(this.stages)) as this; }

  then(next: unknown): OpenProfile {
    if (!(next instanceof OpenProfile)) throw new TypeError(`then(…): ${describe(next)} cannot follow arrivals: ${remedy(next, "arrivals(…).for(…)")}`);
    if ([...this.stages, ...next.stages].some((stage) => "replay" in stage)) {
      throw new TypeError("then(…): a replay is a separate profile: put it next to others with `sequence(…)`");
    }
    const profile = this.as(new OpenProfile([...this.stages, ...next.stages]));
    return Object.assign(profile, { graceful: next.graceful ?? this.graceful, users_max: next.users_max ?? this.users_max });
  }

  maxUsers(count: number): OpenProfile {
    const profile = this.copy();
    profile.users_max = whole(count, "maxUsers(…)", 1);
    return profile;
  }
}

/** A shape of arrivals that needs a duration: `stages` creates them for a number of nanoseconds. */
class OpenShape {
  constructor(readonly stages: (duration_ns: number, timing: string) => any[], readonly timing = "even", readonly steps = 0) {}

  for(duration: string): OpenProfile { return new OpenProfile(this.stages(positive(duration, "for(…)"), this.timing)); }
  each(duration: string): OpenProfile {
    if (this.steps === 0) throw new TypeError("each(…) is for steps: set the duration of a single stage with `for`");
    return new OpenProfile(this.stages(positive(duration, "each(…)") * this.steps, this.timing));
  }
  poisson(): OpenShape { return new OpenShape(this.stages, "poisson", this.steps); }
}

function positive(duration: string, what: string): number {
  const ns = nanoseconds(duration, what);
  if (ns <= 0) throw new RangeError(`${what}: a stage needs a duration longer than ${show(duration)}`);
  return ns;
}

const rate = (from: number, to: number, duration_ns: number, timing: string) => ({ rate: { from, to, duration_ns: Math.round(duration_ns), timing } });

function levels(of: readonly unknown[] | StepRange, what: string, read: (value: unknown, what: string) => number): number[] {
  if (Array.isArray(of)) {
    if (of.length === 0) throw new RangeError(`${what}: the list of steps is empty`);
    return of.map((level) => read(level, what));
  }
  if (of === null || typeof of !== "object") throw new TypeError(`${what}: ${show(of)} is not a list of steps or { from, to, by }`);
  const range = of as StepRange;
  known(range, ["from", "to", "by"], what);
  const from = read(range.from, what), to = read(range.to, what), by = read(range.by, what);
  if (by <= 0) throw new RangeError(`${what}: \`by\` is the height of one step and must be above zero`);
  const count = Math.ceil(Math.abs(to - from) / by - 1e-9);
  if (count > 10_000) throw new RangeError(`${what}: ${count} steps are too many`);
  const sign = Math.sign(to - from);
  return Array.from({ length: count + 1 }, (_, k) => (k === count ? to : from + sign * by * k));
}

export const arrivals = members("arrivals", Object.assign(
  (perSecondRate: number | string) => {
    const at = perSecond(perSecondRate, "arrivals(…)");
    return new OpenShape((ns, timing) => [rate(at, at, ns, timing)]);
  },
  {
    replay: (file: string, options: object = {}) => recorded(file, options),
    ramp(from: number | string, to: number | string) {
      const a = perSecond(from, "arrivals.ramp(…)"), b = perSecond(to, "arrivals.ramp(…)");
      return new OpenShape((ns, timing) => [rate(a, b, ns, timing)]);
    },
    steps(of: readonly (number | string)[] | StepRange) {
      const all = levels(of, "arrivals.steps(…)", perSecond);
      return new OpenShape((ns, timing) => all.map((at) => rate(at, at, ns / all.length, timing)), "even", all.length);
    },
    spike(base: number | string, peak: number | string, shape: { hold?: string; rise?: string } = {}) {
      const low = perSecond(base, "arrivals.spike(…)"), high = perSecond(peak, "arrivals.spike(…)");
      known(shape, ["hold", "rise"], "arrivals.spike(…)");
      const hold = positive(shape.hold ?? "10s", "arrivals.spike(…) hold");
      const rise = nanoseconds(shape.rise ?? "0s", "arrivals.spike(…) rise");
      return new OpenShape((ns, timing) => {
        const aside = (ns - hold - 2 * rise) / 2;
        if (aside < 0) throw new RangeError("for(…): the stage is shorter than its spike: lengthen it, or reduce `hold` and `rise`");
        const parts = [[low, low, aside], [low, high, rise], [high, high, hold], [high, low, rise], [low, low, aside]];
        return parts.filter((part) => part[2]! > 0).map((part) => rate(part[0]!, part[1]!, part[2]!, timing));
      });
    },
  },
));

/** The stage of a record. The counts are filled in once it was read. */
function recorded(file: string, options: any): OpenProfile {
  const what = "arrivals.replay(…)";
  if (typeof file !== "string" || file === "") throw new TypeError(`${what}: ${show(file)} is not the name of a file`);
  known(options, ["format", "speed", "from", "to"], what);
  const text = (key: string) => {
    if (options[key] !== undefined && typeof options[key] !== "string") throw new TypeError(`${what} ${key}: ${show(options[key])} is not a string`);
    return options[key] ?? null;
  };
  const speed = options.speed === undefined ? 1 : number(options.speed, `${what} speed`, Number.MIN_VALUE);
  return new OpenProfile([{ replay: { file, speed, format: text("format"), from: text("from"), to: text("to") } }]);
}

export const once = () => new OpenProfile([{ burst: { count: 1 } }]);
export const atOnce = (count: number) => new OpenProfile([{ burst: { count: whole(count, "atOnce(…)", 1) } }]);

class ClosedProfile extends Profile {
  readonly kind = "closed";
  constructor(readonly stages: { from: number; to: number; duration_ns: number }[]) { super(); }

  plan() { return { closed: { stages: this.stages } }; }
  copy(): this { return this.as(new ClosedProfile(this.stages)) as this; }

  then(next: unknown): ClosedProfile {
    if (!(next instanceof ClosedProfile)) throw new TypeError(`then(…): ${describe(next)} cannot follow users: ${remedy(next, "users(…).for(…)")}`);
    return Object.assign(this.as(new ClosedProfile([...this.stages, ...next.stages])), { graceful: next.graceful ?? this.graceful });
  }
}

class ClosedShape {
  constructor(readonly stages: (duration_ns: number) => any[], readonly steps = 0) {}

  for(duration: string): ClosedProfile { return new ClosedProfile(this.stages(positive(duration, "for(…)"))); }
  each(duration: string): ClosedProfile {
    if (this.steps === 0) throw new TypeError("each(…) is for steps: set the duration of a single stage with `for`");
    return new ClosedProfile(this.stages(positive(duration, "each(…)") * this.steps));
  }
}

const level = (from: number, to: number, duration_ns: number) => ({ from, to, duration_ns: Math.round(duration_ns) });

export const users = members("users", Object.assign(
  (count: number) => {
    const at = whole(count, "users(…)");
    return new ClosedShape((ns) => [level(at, at, ns)]);
  },
  {
    ramp(from: number, to: number) {
      const a = whole(from, "users.ramp(…)"), b = whole(to, "users.ramp(…)");
      return new ClosedShape((ns) => [level(a, b, ns)]);
    },
    steps(of: readonly number[] | StepRange) {
      const all = levels(of, "users.steps(…)", (value, what) => whole(value, what));
      return new ClosedShape((ns) => all.map((at) => level(at, at, ns / all.length)), all.length);
    },
  },
));

class IterationsProfile extends Profile {
  readonly kind = "iterations";
  shape = { users: 1, count: 1, split: "shared", duration_max_ns: null as number | null };

  plan() { return { iterations: this.shape }; }
  copy(): this {
    const profile = this.as(new IterationsProfile());
    profile.shape = { ...this.shape };
    return profile as this;
  }
  private changed(change: Partial<IterationsProfile["shape"]>): IterationsProfile {
    const profile = this.copy();
    Object.assign(profile.shape, change);
    return profile;
  }

  users(count: number) { return this.changed({ users: whole(count, "iterations(…).users(…)", 1) }); }
  perUser() { return this.changed({ split: "per_user" }); }
  for(duration: string) { return this.changed({ duration_max_ns: positive(duration, "iterations(…).for(…)") }); }
  static of(count: number) { return new IterationsProfile().changed({ count: whole(count, "iterations(…)", 1) }); }
}

/** With a number, a load profile. With a scenario or no argument, the iterations for a threshold. */
export const iterations = (of?: unknown) => (typeof of === "number" ? IterationsProfile.of(of) : iterationCount(of));

function describe(value: unknown): string {
  if (value instanceof OpenShape || value instanceof ClosedShape) return "a stage without a duration";
  if (value instanceof Profile) return `a profile of ${value.kind === "open" ? "arrivals" : value.kind === "closed" ? "users" : "iterations"}`;
  return show(value);
}

function remedy(value: unknown, example: string): string {
  return value instanceof OpenShape || value instanceof ClosedShape ? 'add `.for("30s")`' : `write \`${example}\``;
}

/** A node of the load tree. */
export class Part {
  readonly kind = "load";
  constructor(readonly node: any) {}
}

export const AUTH = ["bearer", "username", "password"];
const USERS_OPTIONS = ["target", "headers", "auth", "timeout"];
const SCENARIO_OPTIONS = [...USERS_OPTIONS, "fresh", "keep", "onStart", "onEnd", "measureStartAndEnd"];

export class Scenario {
  constructor(readonly name: string, readonly iterate: (user: any) => unknown, readonly options: Record<string, any>) {}

  run(profile: unknown): Part {
    if (!(profile instanceof Profile)) {
      throw new TypeError(`scenario "${this.name}": ${describe(profile)} is not a load profile: ${remedy(profile, 'arrivals(10).for("1m")')}`);
    }
    if (profile.kind === "open" && (this.options.onStart ?? this.options.onEnd) !== undefined) {
      const remedy = "in open load every arrival is a new visitor, so put that code into the scenario";
      throw new TypeError(`scenario "${this.name}": onStart and onEnd are for users that repeat; ${remedy}`);
    }
    const run = {
      scenario: this, profile: profile.plan(), users_max: profile.users_max, graceful_stop_ns: profile.graceful, start_after_ns: profile.after_ns,
    };
    return new Part({ run });
  }
}

strict(Profile, OpenShape, ClosedShape, Scenario, Part);

/** All scenarios of the file, in the order of their declaration. */
export const scenarios: Scenario[] = [];

export function scenario(name: string, iterate: (user: any) => unknown, options: Record<string, any> = {}): Scenario {
  if (typeof name === "function") throw new TypeError("scenario(…): the first argument is its name, as in scenario(\"Buy\", async (user) => { … })");
  nameOf(name, "scenario(…) name");
  if (typeof iterate !== "function") throw new TypeError(`scenario "${name}": the second argument is the function that one user runs, not ${show(iterate)}`);
  if (scenarios.some((other) => other.name === name)) throw new Error(`two scenarios are both named "${name}": results are stored by name, so rename one`);
  known(options, SCENARIO_OPTIONS, `scenario "${name}"`);
  knownIn(options.keep, ["connections", "cookies", "state"], `scenario "${name}" keep`);
  knownIn(options.auth, AUTH, `scenario "${name}" auth`);
  for (const part of ["onStart", "onEnd"]) {
    const hook = options[part];
    if (hook !== undefined && typeof hook !== "function") throw new TypeError(`scenario "${name}" ${part}: ${show(hook)} is not a function`);
  }
  const scenario = new Scenario(name, iterate, options);
  scenarios.push(scenario);
  return scenario;
}

/** The scenarios that run once, before and after all load. */
export const around: { setUp?: Scenario; tearDown?: Scenario } = {};

/** Time limit of each. */
const AROUND_NS = 600e9;

/** The node of a scenario that runs once and is not load. */
export function aroundRun(of: Scenario, role: "set_up" | "tear_down") {
  return { run: { scenario: of, profile: once().plan(), users_max: null, graceful_stop_ns: AROUND_NS, role } };
}

function runsAround(call: string, name: string, iterate: unknown, options: Record<string, any>, run: (user: any) => unknown): Scenario {
  if (typeof iterate !== "function") throw new TypeError(`${call}: expected the function to run, got ${show(iterate)}`);
  known(options, USERS_OPTIONS, call);
  if (scenarios.some((other) => other.name === name)) throw new Error(`${call}: a test has one, and no scenario is named "${name}"`);
  return scenario(name, run, options);
}

/** The set-up's result, for all users. */
class SetUp {
  #value: unknown;
  #isKnown = false;

  get value(): unknown {
    if (!this.#isKnown) {
      this.#value = frozen(JSON.parse(__loadstone.setUpValue()));
      this.#isKnown = true;
    }
    return this.#value;
  }
}

strict(SetUp);

/** Freezes a value. Users share it, and a change would be visible only in the same realm. */
function frozen(value: any): any {
  if (value !== null && typeof value === "object") Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

export function setup(prepare: (user: any) => unknown, options: Record<string, any> = {}): SetUp {
  around.setUp = runsAround("setup(…)", "Set-up", prepare, options, async (user) => {
    const value = (await prepare(user)) ?? null;
    __loadstone.keepSetUp(JSON.stringify(value) ?? "null");
  });
  return new SetUp();
}

export function teardown(cleanUp: (user: any) => unknown, options: Record<string, any> = {}): void {
  around.tearDown = runsAround("teardown(…)", "Tear-down", cleanUp, options, cleanUp);
}

/** A load tree from a part, or from a list of parts that run at the same time. */
export function loadTree(load: unknown, what: string): Part {
  if (load instanceof Part) return load;
  if (Array.isArray(load)) return parallel(...load);
  if (load instanceof Scenario) throw new TypeError(`${what}: scenario "${load.name}" has no load: write \`.run(arrivals(10).for("1m"))\``);
  throw new TypeError(`${what}: ${describe(load)} cannot run: use \`scenario.run(…)\`, \`sequence(…)\` or a list of them`);
}

export function sequence(...parts: unknown[]): Part {
  return new Part({ sequence: parts.map((part) => loadTree(part, "sequence(…)").node) });
}

export function parallel(...parts: unknown[]): Part {
  return new Part({ parallel: parts.map((part) => loadTree(part, "load").node) });
}

/** The tree with scenarios as numbers. */
export function numbered(node: any, number: (scenario: Scenario) => number): any {
  if (node.run) return { run: { ...node.run, scenario: number(node.run.scenario) } };
  const key = node.sequence ? "sequence" : "parallel";
  return { [key]: node[key].map((part: any) => numbered(part, number)) };
}
