// The module "k6/execution".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("execution");

const started = Date.now();
const tags = new Proxy({} as Record<string, string>, {
  get: (_, key) => (typeof key === "string" ? k6.tags()[key] : undefined),
  set: (_, key, value) => {
    if (value === undefined || value === null || typeof value === "object")
      throw new TypeError(`the tag ${String(key)} must be a string, a number or a boolean`);
    k6.tag(String(key), String(value));
    return true;
  },
  deleteProperty: (_, key) => {
    k6.tag(String(key), undefined);
    return true;
  },
  has: (_, key) => key in k6.tags(),
  ownKeys: () => Object.keys(k6.tags()),
  getOwnPropertyDescriptor: (_, key) => ({ value: k6.tags()[key as string], enumerable: true, configurable: true, writable: true }),
});

const missing = (name: string): never => {
  throw new Error(`Loadstone does not support \`${name}\` of "k6/execution": see docs/k6-compatibility.md, or run this script with k6`);
};

export const vu = {
  get idInInstance() { return k6.vu; },
  get idInTest() { return k6.vuInTest; },
  get iterationInInstance() { return k6.position().iterationInInstance; },
  get iterationInScenario() { return k6.position().iterationInScenario; },
  tags,
  metrics: { tags, metadata: {} as Record<string, string> },
};

/** Where the VU is in its scenario. The set-up and the tear-down have none. */
const inScenario = () => {
  const position = k6.position();
  if (position.scenario === undefined) throw new Error("exec.scenario is only available in the functions of scenarios");
  return position;
};

export const scenario = {
  get name() { return inScenario().scenario; },
  get executor() { return inScenario().executor; },
  get startTime() { const { sinceStart, startAfter } = inScenario(); return Date.now() - sinceStart + startAfter; },
  get progress() {
    const { sinceStart, startAfter, duration } = inScenario();
    return duration ? Math.min(1, Math.max(0, (sinceStart - startAfter) / duration)) : missing("scenario.progress without a duration");
  },
  get iterationInTest() { return inScenario().iterationInTest; },
  get iterationInInstance() { return inScenario().iterationOfScenarioHere; },
};

export const instance = {
  get currentTestRunDuration() { return k6.position().sinceStart; },
  get iterationsCompleted(): number { return k6.instance()[0]; },
  get iterationsInterrupted(): number { return k6.instance()[1]; },
  get vusActive(): number { return k6.instance()[2]; },
  get vusInitialized(): number { return k6.instance()[3]; },
};

const DEFAULT_TAGS = [
  "check", "error", "error_code", "expected_response", "group", "method", "name", "proto", "scenario", "service", "status", "subproto", "tls_version", "url",
];
const OTHER_TAGS = ["ip", "iter", "ocsp_status", "vu"];

/** As k6 shows them: in alphabetical order, known names only, and none as null. */
const systemTags = (written: any): string[] | null => {
  if (written === undefined) return DEFAULT_TAGS;
  const listed = typeof written === "string" ? written.split(",").map((name) => name.trim()) : written;
  const known = [...DEFAULT_TAGS, ...OTHER_TAGS].filter((name) => listed.includes(name)).sort();
  return known.length > 0 ? known : null;
};

/** As k6 shows options: a load without scenarios is the scenario `default`. */
const consolidated = (written: any): any => {
  const options = { ...written, systemTags: systemTags(written.systemTags) };
  // As a flag or a variable writes it: `ttl=5m,select=first`.
  if (typeof options.dns === "string") options.dns = Object.fromEntries(options.dns.split(",").filter(Boolean).map((part: string) => part.split("=")));
  if (options.scenarios) return options;
  const { vus, iterations, duration, stages, ...rest } = options;
  const scenario = stages
    ? { executor: "ramping-vus", startVUs: vus, stages }
    : iterations !== undefined
      ? { executor: "shared-iterations", vus, iterations, maxDuration: duration }
      : duration !== undefined
        ? { executor: "constant-vus", vus, duration }
        : { executor: "per-vu-iterations", vus: 1, iterations: 1 };
  return { ...rest, scenarios: { default: scenario } };
};

export const test = {
  abort: (message?: string) => k6.abort(message === undefined ? "test aborted" : String(message)),
  fail: (message?: string) => k6.fail(message === undefined ? "exec.test.fail()" : String(message)),
  get options() { return consolidated(JSON.parse(k6.options)); },
};

export default { vu, scenario, instance, test, started };
