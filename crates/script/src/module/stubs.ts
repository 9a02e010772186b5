// Stubs: simulated endpoints. This file builds the data of `stub::StubSpec`, with the vocabulary of `loadstone stub`. The servers are in
// Rust. They call functions of routes through `__loadstone.handle`, in a separate realm.
import { BEHAVIOUR, SERVER, behaviour, listens, replied, stubs, unsealed } from "loadstone:answers";
import { grpc } from "loadstone:grpc-stubs";
import { dns } from "loadstone:names";
import { tcp } from "loadstone:tcp-stubs";
import { known, knownIn, members, show, strict } from "loadstone:values";

const ANSWER = [...BEHAVIOUR, "status", "headers", "body", "json", "template", "size", "echo", "gzip", "bandwidth", "slow"];
const REPLY = ["status", "headers", "body", "json", "delay"];

type Handler = (request: any) => any;

function answer(options: any, allowed: string[], what: string): any {
  const { headers, ...rest } = behaviour(options, allowed, what);
  knownIn(rest.slow, ["bytes", "every"], `${what} slow`);
  return { ...rest, ...(headers === undefined ? {} : { headers: pairs(headers, what) }) };
}

function pairs(headers: any, what: string): [string, string][] {
  if (headers === null || typeof headers !== "object") throw new TypeError(`${what}: headers are an object of names and values, not ${show(headers)}`);
  return Object.entries(headers).map(([name, value]) => [name, String(value)]);
}

class HttpStub {
  readonly #routes: { route: string; options: any; handle: Handler | undefined }[] = [];

  constructor(readonly url: string, options: any) {
    stubs.push({
      plan: () => ({ ...options, routes: this.#routes.map(({ route, options, handle }) => ({ route, handler: handle !== undefined, ...options })) }),
      handle: (route, request) => replied(this.#routes[route]!.handle!(request), (value) => reply(request.route, value)),
    });
  }

  on(route: string, handle?: Handler | object, options: object = {}) {
    if (typeof route !== "string") throw new TypeError(`on(…): ${show(route)} is not a route: write it as "POST /webhook"`);
    unsealed(`on("${route}")`);
    const settings = typeof handle === "function" ? options : (handle ?? options);
    const own = answer(settings, ANSWER, `on("${route}")`);
    this.#routes.push({ route, options: own, handle: typeof handle === "function" ? handle as Handler : undefined });
    return this;
  }
}

strict(HttpStub);

export const stub = members("stub", {
  http(options: any = {}) {
    const what = "stub.http(…)";
    const settings = answer(options, [...SERVER, ...ANSWER], what);
    return new HttpStub(listens(settings, what, "127.0.0.1:9099"), settings);
  },
  grpc,
  tcp,
  dns,
});

function reply(route: string, value: any): any {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object") throw new TypeError(`the function of "${route}" answers with an object such as { status: 202 }, not ${show(value)}`);
  known(value, REPLY, `the answer of "${route}"`);
  const headers = value.headers === undefined ? [] : pairs(value.headers, `the answer of "${route}"`);
  if (value.json !== undefined && !headers.some(([name]) => name.toLowerCase() === "content-type")) headers.push(["content-type", "application/json"]);
  const body = value.json !== undefined ? JSON.stringify(value.json) : value.body === undefined ? undefined : String(value.body);
  return { status: value.status, headers, body, delay: value.delay };
}
