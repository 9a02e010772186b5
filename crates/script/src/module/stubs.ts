// Stubs: simulated endpoints. What is built here is the data of `stub::StubSpec`, with the vocabulary of `loadstone stub`; the servers are
// Rust's, and functions of routes are called through `__loadstone.handle` in a realm of their own.
import { dns } from "loadstone:names";
import { known, knownIn, show, strict } from "loadstone:values";

const ANSWER = ["delay", "delaysMs", "delaysFrom", "stages", "status", "headers", "body", "json", "template", "size", "echo", "gzip",
  "faults", "limit", "bandwidth", "slow"];
const STUB = ["listen", "name", "tls", "seed", ...ANSWER];
const LIMIT = ["rate", "burst", "concurrent", "queue", "reject", "retryAfter"];
const REPLY = ["status", "headers", "body", "json", "delay"];

type Handler = (request: any) => any;

function answer(options: any, allowed: string[], what: string): any {
  if (options === null || typeof options !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(options)}`);
  known(options, allowed, what);
  const { faults, headers, ...rest } = options;
  knownIn(rest.limit, LIMIT, `${what} limit`);
  knownIn(rest.slow, ["bytes", "every"], `${what} slow`);
  for (const stage of listed(rest.stages)) knownIn(stage, ["until", "delay"], `${what} stages`);
  for (const fault of listed(faults)) knownIn(fault, ["share", "fault"], `${what} faults`);
  return {
    ...rest,
    ...(headers === undefined ? {} : { headers: pairs(headers, what) }),
    ...(faults === undefined ? {} : { faults: Array.isArray(faults) ? faults : [faults] }),
  };
}

/** What may be one object, a list of them, or left out. Texts and numbers are left to whoever reads them. */
function listed(value: any): any[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item) => item !== null && typeof item === "object");
}

function pairs(headers: any, what: string): [string, string][] {
  if (headers === null || typeof headers !== "object") throw new TypeError(`${what}: headers are an object of names and values, not ${show(headers)}`);
  return Object.entries(headers).map(([name, value]) => [name, String(value)]);
}

export class HttpStub {
  readonly #routes: { route: string; handler: boolean; options: any; handle: Handler | undefined }[] = [];
  readonly #options: any;

  constructor(readonly url: string, options: any) {
    this.#options = options;
  }

  on(route: string, handle?: Handler | object, options: object = {}) {
    if (typeof route !== "string") throw new TypeError(`on(…): ${show(route)} is not a route: write it as "POST /webhook"`);
    if (__loadstone.declared?.sealed) throw new Error(`on("${route}"): declare routes at the top level of the test, outside scenarios`);
    const given = typeof handle === "function" ? options : (handle ?? options);
    const own = answer(given, ANSWER, `on("${route}")`);
    this.#routes.push({ route, handler: typeof handle === "function", options: own, handle: typeof handle === "function" ? handle as Handler : undefined });
    return this;
  }

  static plan(of: HttpStub): any {
    return { ...of.#options, routes: of.#routes.map(({ route, handler, options }) => ({ route, handler, ...options })) };
  }
  static handler(of: HttpStub, route: number): Handler | undefined {
    return of.#routes[route]?.handle;
  }
}

strict(HttpStub);

/** All stubs of the file, in the order of their declaration. */
export const stubs: HttpStub[] = [];

export const stub = {
  http(options: any = {}) {
    const given = answer(options, STUB, "stub.http(…)");
    if (given.listen !== undefined && typeof given.listen !== "string") {
      throw new TypeError(`stub.http(…) listen: ${show(given.listen)} is not an address: write it as "127.0.0.1:9099"`);
    }
    const made = new HttpStub(__loadstone.stub(stubs.length, given.listen ?? "", given.tls !== undefined && given.tls !== false), given);
    stubs.push(made);
    return made;
  },
  dns,
};

function reply(route: string, value: any): any {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object") throw new TypeError(`the function of "${route}" answers with an object such as { status: 202 }, not ${show(value)}`);
  known(value, REPLY, `the answer of "${route}"`);
  const headers = value.headers === undefined ? [] : pairs(value.headers, `the answer of "${route}"`);
  if (value.json !== undefined && !headers.some(([name]) => name.toLowerCase() === "content-type")) headers.push(["content-type", "application/json"]);
  const body = value.json !== undefined ? JSON.stringify(value.json) : value.body === undefined ? undefined : String(value.body);
  return { status: value.status, headers, body, delay: value.delay };
}

/** What the function of a route makes of a request; called by the host. */
__loadstone.handle = (number: number, route: number, request: any) => {
  const made = HttpStub.handler(stubs[number]!, route)!(request);
  return made instanceof Promise ? made.then((value) => reply(request.route, value)) : reply(request.route, made);
};
