// `test(…)`, parameters and observers: the declarations of a file in addition to its load.
import { consumers } from "loadstone:consumers";
import { Flow, flows } from "loadstone:flows";
import { knobs } from "loadstone:knobs";
import { stubs } from "loadstone:answers";
import { AUTH, around, aroundRun, loadTree, numbered, once, scenario, scenarios, type Scenario } from "loadstone:load";
import { metrics } from "loadstone:metrics";
import { nameServers } from "loadstone:names";
import { proxies, RecordingProxy, recordingProxies } from "loadstone:proxies";
import { Threshold, withImplied } from "loadstone:thresholds";
import { known, knownIn, members, name as nameOf, nanoseconds, perSecond, show, whole } from "loadstone:values";

const PARTS = ["name", "target", "load", "thresholds", "headers", "auth", "options", "observe"];
const OPTIONS = ["seed", "requestTimeout", "gracefulStop", "startWindow", "seriesMax", "bodyBytesMax", "redirects", "keepAlive", "connectionsPerUser",
  "retryIdleClose", "insecure", "roots", "clientCertificate", "serverName", "tlsResumption", "sources", "nameServers", "http2", "proxy", "retry",
  "connectionsPerSecond", "traceparent", "grpcReflection"];

class Test {
  readonly kind = "test";
  constructor(readonly plan: (file: string) => any) {}
}

function headers(value: any, what: string): [string, string][] {
  if (value === undefined) return [];
  if (value === null || typeof value !== "object") throw new TypeError(`${what}: headers are an object of names and values, not ${show(value)}`);
  return Object.entries(value).map(([key, text]) => [headerName(key, what), headerValue(text, `${what}: the header ${key}`)]);
}

function headerName(name: string, what: string): string {
  if (/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  throw new TypeError(`${what}: ${show(name)} is not a header name`);
}

function headerValue(value: unknown, what: string): string {
  if (!["string", "number", "bigint", "boolean"].includes(typeof value)) throw new TypeError(`${what} is ${show(value)}: write a string`);
  if (/[\r\n\0]/.test(String(value))) throw new TypeError(`${what} contains a line break or NUL`);
  return String(value);
}

function auth(value: any, what: string): any {
  if (value === undefined || value === null) return null;
  if (typeof value.bearer === "string") return { bearer: value.bearer };
  if (typeof value.username === "string" && typeof value.password === "string") return { username: value.username, password: value.password };
  throw new TypeError(`${what}: auth is { username, password } or { bearer }`);
}

function url(value: unknown, what: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw new TypeError(`${what}: ${show(value)} is not a URL`);
  return __loadstone.target(value);
}

function texts(value: any, what: string): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError(`${what}: ${show(value)} is not a list of strings`);
  return value.map((text) => nameOf(text, what));
}

const REDIRECTS = ["limit", "hosts"];

/** A number, or `{ limit, hosts }`. */
function redirects(value: any): { redirects: number; redirect_hosts: string[] } {
  if (value === null || typeof value !== "object") return { redirects: whole(value ?? 10, "redirects"), redirect_hosts: [] };
  knownIn(value, REDIRECTS, "redirects");
  return { redirects: whole(value.limit ?? 10, "redirects.limit"), redirect_hosts: texts(value.hosts, "redirects.hosts") };
}

/** One client certificate, or a list: users take them in turn. */
function clientCertificates(value: any): any[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) {
    if (value.length === 0) throw new TypeError("clientCertificate: the list is empty");
    return value.map((one, index) => clientCertificate(one, `clientCertificate[${index}]`));
  }
  return [clientCertificate(value, "clientCertificate")];
}

function clientCertificate(value: any, what: string): any {
  if (value === null || typeof value !== "object") throw new TypeError(`${what} is { certificate, key } or { pkcs12 }, not ${show(value)}`);
  known(value, ["certificate", "key", "pkcs12", "passphrase"], what);
  const part = (name: string) => (value[name] === undefined ? undefined : nameOf(value[name], `${what}.${name}`));
  const passphrase = value.passphrase ?? null;
  if (passphrase !== null && typeof passphrase !== "string") throw new TypeError(`${what}.passphrase: ${show(passphrase)} is not a string`);
  const [certificate, key, pkcs12] = [part("certificate"), part("key"), part("pkcs12")];
  if (pkcs12 !== undefined && certificate === undefined && key === undefined) return { pkcs12, passphrase };
  if (pkcs12 === undefined && certificate !== undefined && key !== undefined) return { certificate, key, passphrase };
  throw new TypeError(`${what}: write the files as { certificate, key } (PEM) or as { pkcs12 }`);
}

function http2(value: unknown): string {
  if (value === undefined || value === "off" || value === "auto" || value === "only") return value ?? "off";
  throw new TypeError(`http2: ${show(value)} is not "off", "auto" or "only"`);
}

function proxy(value: any): unknown {
  if (typeof value === "string") return nameOf(value, "proxy");
  if (value === null || typeof value !== "object") throw new TypeError(`proxy: ${show(value)} is not a URL, "environment", or an object of URLs`);
  knownIn(value, ["http", "https", "all", "noProxy"], "proxy");
  const url = (key: string) => (value[key] === undefined ? null : nameOf(value[key], `proxy.${key}`));
  const hosts = typeof value.noProxy === "string" ? value.noProxy : texts(value.noProxy, "proxy.noProxy").join(",");
  return { http: url("http"), https: url("https"), all: url("all"), no_proxy: hosts };
}

function retry(value: any): unknown {
  if (value === null || typeof value !== "object") throw new TypeError(`retry: ${show(value)} is not an object such as { times: 2 }, or false`);
  knownIn(value, ["times", "on", "wait"], "retry");
  return {
    times: whole(value.times, "retry.times", 1),
    on: value.on === undefined ? null : [value.on].flat().map(String),
    wait_ns: value.wait === undefined ? null : nanoseconds(value.wait, "retry.wait"),
  };
}

function flag(value: unknown, what: string): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new TypeError(`${what}: ${show(value)} is not true or false`);
}

function connectionRate(value: unknown): number {
  const rate = perSecond(value, "connectionsPerSecond");
  if (rate <= 0) throw new RangeError("connectionsPerSecond: must be above zero, or no request could be sent");
  return rate;
}

function scenarioSettings(scenario: Scenario) {
  const { target, headers: lines, auth: credentials, timeout, fresh, keep, onStart, onEnd, measureStartAndEnd } = scenario.options;
  const what = `scenario "${scenario.name}"`;
  return {
    name: scenario.name,
    target: url(target, what),
    headers: headers(lines, what),
    auth: auth(credentials, what),
    timeout_ns: timeout === undefined ? null : nanoseconds(timeout, `${what} timeout`),
    measured: scenario !== around.setUp && scenario !== around.tearDown,
    on_start: onStart !== undefined,
    on_end: onEnd !== undefined,
    measures_start_and_end: flag(measureStartAndEnd, `${what} measureStartAndEnd`),
    keep: keep ?? (fresh ? { connections: false, cookies: false, state: false } : {}),
  };
}

export function test(definition: any): Test {
  if (definition === null || typeof definition !== "object") throw new TypeError(`test(…): ${show(definition)} is not the description of a test`);
  known(definition, PARTS, "test(…)");
  if (definition.load === undefined) throw new TypeError("the test has no load: set `load:` to at least one `scenario.run(…)`");
  const load = loadTree(definition.load, "load");
  const options = definition.options ?? {};
  known(options, OPTIONS, "options");
  knownIn(definition.auth, AUTH, "auth");
  const thresholds = withImplied((definition.thresholds ?? []).map((threshold: unknown) => {
    if (threshold instanceof Threshold) return threshold.plan;
    throw new TypeError(`thresholds: ${show(threshold)} has no bound: write \`responseTime().p99.below("200ms")\``);
  }));
  const observers = (definition.observe ?? []).map((observer: unknown) => {
    if (observer instanceof Observer) return observer.plan;
    throw new TypeError(`observe: ${show(observer)} is not an observer: write \`observe.process({ port: 8080 })\``);
  });
  const target = url(definition.target, "target");
  const planOptions = {
    seed: whole(options.seed ?? 1, "seed"),
    graceful_stop_ns: nanoseconds(options.gracefulStop ?? "30s", "gracefulStop"),
    request_timeout_ns: nanoseconds(options.requestTimeout ?? "30s", "requestTimeout"),
    start_window_ns: nanoseconds(options.startWindow ?? "70us", "startWindow"),
    series_max: whole(options.seriesMax ?? 500, "seriesMax", 1),
    body_bytes_max: whole(options.bodyBytesMax ?? 64 * 1024 * 1024, "bodyBytesMax", 1),
  };
  const settings = {
    headers: headers(definition.headers, "headers"),
    auth: auth(definition.auth, "auth"),
    ...redirects(options.redirects),
    keep_alive: options.keepAlive ?? true,
    connections_per_user: options.connectionsPerUser === undefined ? null : whole(options.connectionsPerUser, "connectionsPerUser", 1),
    retry_idle_close: options.retryIdleClose === undefined ? true : flag(options.retryIdleClose, "retryIdleClose"),
    retry: options.retry === undefined || options.retry === false ? null : retry(options.retry),
    insecure: options.insecure ?? false,
    roots: options.roots ?? [],
    client_certificates: clientCertificates(options.clientCertificate),
    server_name: options.serverName === undefined ? null : nameOf(options.serverName, "serverName"),
    tls_resumption: options.tlsResumption ?? true,
    sources: texts(options.sources, "sources"),
    name_servers: texts(options.nameServers, "nameServers"),
    http2: http2(options.http2),
    proxy: options.proxy === undefined ? null : proxy(options.proxy),
    traceparent: flag(options.traceparent, "traceparent"),
    grpc_reflection: flag(options.grpcReflection, "grpcReflection"),
    connections_per_second: options.connectionsPerSecond === undefined ? null : connectionRate(options.connectionsPerSecond),
  };
  return new Test((file) => {
    const tree = around.setUp === undefined ? load.node : { sequence: [aroundRun(around.setUp, "set_up"), load.node] };
    const tearDown = around.tearDown === undefined ? undefined : aroundRun(around.tearDown, "tear_down");
    const used: Scenario[] = [];
    for (const node of [tree, tearDown]) if (node !== undefined) numbered(node, (scenario) => used.push(scenario));
    const order = scenarios.filter((scenario) => used.includes(scenario));
    const place = (scenario: Scenario) => order.indexOf(scenario);
    return {
      plan: {
        name: definition.name ?? file, target, parameters: [], scenarios: order.map(({ name }) => ({ name })),
        load: numbered(tree, place), tear_down: tearDown === undefined ? null : numbered(tearDown, place).run, thresholds, observers, options: planOptions,
        flows: flows.map(Flow.plan), metrics, stubs: stubs.map((stub) => stub.plan()),
      },
      settings: { ...settings, scenarios: order.map(scenarioSettings) },
      interventions: {
        knobs: knobs.map((knob) => knob.plan),
        proxies: proxies.map((proxy) => proxy.plan),
        name_servers: nameServers.map((server) => server.plan),
      },
      consumers: consumers.map(({ kind, declaration }) => ({ kind, declaration })),
    };
  });
}

/** The whole plan as JSON; called by the host once the file has been evaluated. */
__loadstone.describe = (exported: unknown, file: string) => {
  if (!(exported instanceof Test)) return undefined;
  checkRecording(undefined);
  return JSON.stringify(exported.plan(file));
};

/** A proxy that is not the record would not be started. */
function checkRecording(record: unknown) {
  if (recordingProxies.some((proxy) => proxy !== record)) {
    throw new TypeError("proxy.http(…) records requests for `loadstone watch`: write `export default watch({ record: proxy.http(…) })`, or leave it out");
  }
}

const SYSTEM = ["observe", "thresholds", "stubs"];

class Watch {
  readonly kind = "watch";
  constructor(readonly definition: any) {}
}

/** What `loadstone watch` observes, and the objectives of a load that another tool generates. */
export function watch(definition: any): Watch {
  if (definition === null || typeof definition !== "object") {
    throw new TypeError(`watch(…): ${show(definition)} is not a description such as { observe, thresholds }`);
  }
  if (definition.record !== undefined && !(definition.record instanceof RecordingProxy)) {
    const remedy = "write `proxy.http({ listen, to })`; other records are --record and --follow";
    throw new TypeError(`watch(…) record: ${show(definition.record)} is not a proxy: ${remedy}`);
  }
  if ("load" in definition) throw new TypeError("watch(…) has no `load`: another tool generates it; for Loadstone's own load write `test(…)`");
  known(definition, ["record", "observe", "thresholds"], "watch(…)");
  return new Watch(definition);
}

/** The same for the file of `--with`, which describes the system for a script of another tool: the load of this plan never runs. */
__loadstone.describeSystem = (exported: any, file: string) => {
  if (exported === null || typeof exported !== "object" || exported instanceof Test) return undefined;
  const system = exported instanceof Watch ? exported.definition : exported;
  known(system, exported instanceof Watch ? [...SYSTEM, "record"] : SYSTEM, "the default export of the file of --with");
  const { record, observe, thresholds } = system;
  checkRecording(record);
  const plan = test({ observe, thresholds, load: scenario("system", () => {}).run(once()) }).plan(file);
  return JSON.stringify({ ...plan, record: record?.plan });
};
/** The function of a scenario, or a function that its users run around it; called by the host in every realm. */
__loadstone.scenario = (name: string, part?: "onStart" | "onEnd") => {
  const scenario = scenarios.find((scenario) => scenario.name === name);
  return part === undefined ? scenario?.iterate : scenario?.options[part];
};

const PARAMETER = ["default", "help", "secret"];

const declare = (kind: string, more: string[] = []) => (name: string, options: any = {}) => {
  known(options, [...PARAMETER, ...more], `parameter "${name}"`);
  return __loadstone.parameter(kind, name, JSON.stringify(options));
};

/** From now on, and until the run is over, no output shows this string. */
export function secret<T extends string>(value: T): T {
  if (typeof value !== "string") throw new TypeError(`secret(…): expected a string, got ${show(value)}`);
  __loadstone.secret(value);
  return value;
}

export const param = members("param", {
  number: declare("number", ["min", "max"]),
  string: declare("string"),
  boolean: declare("boolean"),
  duration: declare("duration"),
  url: declare("url"),
  delay: declare("delay"),
  choice(name: string, options: readonly string[], more: any = {}) {
    known(more, PARAMETER, `parameter "${name}"`);
    return __loadstone.parameter("choice", name, JSON.stringify({ ...more, options }));
  },
});

class Observer {
  readonly kind = "observer";
  constructor(readonly plan: any) {}
}

/** Flows in the form that descriptions of observers need: a flow by its number from 1, `[flow, "stage"]` with the stage's number from 0. */
function plain(value: any, what: string): any {
  if (value instanceof Flow) return { flow: Flow.step(value, "start", what).flow };
  if (!Array.isArray(value) || !(value[0] instanceof Flow) || value.length !== 2) return value;
  const { flow, step } = Flow.step(value[0], value[1], what);
  return { flow, stage: Number(step) };
}

/** `observe.KIND(options)` and `observe.KIND(address, options)`. The host checks the kind and its options. */
export const observe: any = new Proxy({}, {
  get(_, kind) {
    if (typeof kind !== "string") return undefined;
    return (first?: any, second?: any) => {
      const what = `observe.${kind}(…)`;
      const isAddress = first !== undefined && first !== null && typeof first !== "object";
      const options = (isAddress ? second : first ?? second) ?? {};
      if (typeof options !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(options)}`);
      const description: any = isAddress ? { kind, url: first } : { kind };
      for (const [name, value] of Object.entries(options)) description[name] = plain(value, `${what} ${name}`);
      __loadstone.observer?.(JSON.stringify(description));
      return new Observer(description);
    };
  },
});
