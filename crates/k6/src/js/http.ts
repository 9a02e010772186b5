// The module "k6/http": what most scripts use. Every VU has its own copy of a module, so `http-parts.ts` has the rest.
import type { Selection } from "k6/html";

declare const globalThis: any;
const k6 = globalThis.__k6;

const TIMEOUT_MS = 60000;

/** The parts that few scripts use, evaluated when they are first needed. */
const parts = (): any => k6.httpParts ?? (k6.load("k6:http-parts"), k6.httpParts);

class ExpectedStatuses {
  ranges: number[][];

  constructor(ranges: number[][]) {
    this.ranges = ranges;
  }
}

export function expectedStatuses(...statuses: any[]) {
  if (statuses.length === 0) throw new Error("expectedStatuses() expects at least one status or { min, max }");
  return new ExpectedStatuses(
    statuses.map((status) => {
      const [min, max] = typeof status === "object" && status !== null ? [status.min, status.max] : [status, status];
      if (!Number.isInteger(min) || !Number.isInteger(max)) throw new Error("expectedStatuses() expects whole numbers, or { min, max }");
      return [min, max];
    }),
  );
}

const DEFAULT_CALLBACK = expectedStatuses({ min: 200, max: 399 });
let callback: ExpectedStatuses | null = DEFAULT_CALLBACK;

const checkedCallback = (given: any): ExpectedStatuses | null => {
  if (given !== null && !(given instanceof ExpectedStatuses)) throw new TypeError("a response callback is http.expectedStatuses(…) or null");
  return given;
};

export function setResponseCallback(given: any) {
  callback = checkedCallback(given);
}

export const file = (data: any, filename?: string, contentType?: string) => parts().file(data, filename, contentType);

/** A URL whose variable parts are not in its name. */
export function url(parts: any, ...values: any[]) {
  if (typeof parts === "string") return { url: parts, name: parts };
  let [address, name] = [parts[0], parts[0]];
  values.forEach((value, index) => {
    address += String(value) + parts[index + 1];
    name += "${}" + parts[index + 1];
  });
  return { url: address, name };
}

/** A body in the form in which it is sent, and the content type that follows from it. */
const encoded = (body: any): { body: any; contentType?: string } => {
  if (body === undefined || body === null) return { body: null };
  return typeof body === "string" ? { body } : parts().encoded(body);
};

/** The call in the form of the native function. */
function prepared(method: string, address: any, body: any, params: any): any {
  const options = params ?? {};
  if (options.auth) parts().checkAuth(options.auth);
  const named = typeof address === "object" && address !== null && "url" in address ? address : { url: String(address) };
  const sent = encoded(body);
  const headers: string[][] = [];
  for (const name of Object.keys(options.headers ?? {})) headers.push([name, String(options.headers[name])]);
  if (options.compression && sent.body !== null) parts().compress(options.compression, sent, headers);
  if (sent.contentType && !headers.some(([name]) => name.toLowerCase() === "content-type")) headers.push(["Content-Type", sent.contentType]);
  const expected = options.responseCallback === undefined ? callback : checkedCallback(options.responseCallback);
  return {
    method: String(method),
    url: named.url,
    name: named.name,
    headers,
    body: sent.body,
    timeout: k6.milliseconds(options.timeout, TIMEOUT_MS),
    redirects: options.redirects,
    responseType: options.responseType,
    tags: options.tags,
    cookies: options.cookies ? parts().callCookies(options.cookies) : undefined,
    jar: options.jar ? parts().nativeJar(options.jar) : undefined,
    expected: expected === null ? undefined : expected.ranges,
  };
}

/** Members that few scripts read: built when they are first read. As in k6, they are members of the response itself. */
const accessors = (name: string): any[] => {
  const define = (response: any, value: any) => {
    Object.defineProperty(response, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  return [
    function (this: any) { return define(this, Response.sent(this)?.[name]() ?? {}); },
    function (this: any, value: any) { define(this, value); },
  ];
};
// `http_response.rs` defines them, in this order: reading descriptors for each response would cost more than all its other members.
k6.lazyMembers = ["headers", "timings", "request"].flatMap(accessors);

/** A response of k6. */
export class Response {
  declare status: number;
  declare body: any;
  declare headers: Record<string, string>;
  declare error: string;
  declare error_code: number;
  declare url: string;
  declare proto: string;
  declare timings: any;
  declare request: any;
  #sent: any;
  #parsed: any;

  /** `sent` is native. Without it, nothing was sent. */
  constructor(status: number, body: any, error: string, code: number, url = "", proto = "", sent?: any) {
    this.status = status;
    this.body = body;
    this.error = error;
    this.error_code = code;
    this.url = url;
    this.proto = proto;
    this.#sent = sent;
  }

  static sent(response: Response): any {
    return response.#sent;
  }

  get status_text(): string {
    return this.status === 0 ? "" : `${this.status} ${parts().REASONS[this.status] ?? ""}`.trim();
  }

  get cookies(): Record<string, any[]> {
    const lines = this.#sent?.cookies() ?? [];
    return lines.length === 0 ? {} : parts().cookiesOf(lines);
  }

  get remote_ip(): string { return this.#sent?.remote_ip() ?? ""; }
  get remote_port(): number { return this.#sent?.remote_port() ?? 0; }
  get tls_version(): string { return this.#sent?.tls()?.[0] ?? ""; }
  get tls_cipher_suite(): string { return this.#sent?.tls()?.[1] ?? ""; }
  get ocsp(): any { return parts().ocspOf(this.tls_version); }

  json(path?: string): any {
    if (this.body === null || this.body === undefined) {
      throw new Error("the body is null, so it cannot be converted to JSON: the request failed, or the body was discarded");
    }
    if (this.#parsed === undefined) {
      const text = typeof this.body === "string" ? this.body : k6.text(this.body);
      try {
        this.#parsed = { value: JSON.parse(text) };
      } catch (error: any) {
        // As in k6, a path into something else than JSON finds nothing.
        if (path !== undefined) return undefined;
        throw new Error(`cannot parse json due to an error: ${error.message}`);
      }
    }
    return path === undefined ? this.#parsed.value : parts().select(this.#parsed.value, String(path));
  }

  html(selector?: string): Selection {
    if (this.body === null || this.body === undefined) {
      throw new Error("the body is null, so it cannot be parsed: the request failed, or the body was discarded");
    }
    if (k6.parseHTML === undefined) k6.load("k6/html");
    const page = k6.parseHTML(typeof this.body === "string" ? this.body : k6.text(this.body), this.url);
    return selector === undefined ? page : page.find(selector);
  }

  /** Sends a form of the page. */
  submitForm(form: any = {}): Response {
    return parts().submitForm(this, form, request);
  }

  /** Follows a link of the page. */
  clickLink(link: any = {}): Response {
    return parts().clickLink(this, link, request);
  }
}

/** The response of a native function. Positional: an object with names would be built twice. */
k6.respond = (status: number, body: any, error: string, code: number, url?: string, proto?: string, sent?: any) =>
  new Response(status, body, error, code, url, proto, sent);

/** Throws the error of a request, if the script wants that. */
function checked(response: Response, params: any): Response {
  if (response.error && (params?.throw ?? k6.throws())) throw new Error(response.error);
  return response;
}

export function request(method: string, address: any, body?: any, params?: any): Response {
  const isPlain = callback === DEFAULT_CALLBACK && (params === undefined || params === null) && typeof address === "string";
  if (isPlain && (body === undefined || body === null || typeof body === "string")) return checked(k6.requestPlain(String(method), address, body), params);
  if (typeof body === "number" || typeof body === "boolean") return checked(new Response(0, null, parts().unknownBody(body), 0), params);
  return checked(k6.request(prepared(method, address, body, params)), params);
}

export const get = (address: any, params?: any) => request("GET", address, null, params);
export const head = (address: any, params?: any) => request("HEAD", address, null, params);
export const post = (address: any, body?: any, params?: any) => request("POST", address, body, params);
export const put = (address: any, body?: any, params?: any) => request("PUT", address, body, params);
export const patch = (address: any, body?: any, params?: any) => request("PATCH", address, body, params);
export const del = (address: any, body?: any, params?: any) => request("DELETE", address, body, params);
export const options = (address: any, body?: any, params?: any) => request("OPTIONS", address, body, params);

export function asyncRequest(method: string, address: any, body?: any, params?: any): Promise<Response> {
  return new Promise((resolve, reject) => {
    const number = k6.register((response: any) => {
      try {
        resolve(checked(response, params));
      } catch (error) {
        reject(error);
      }
    });
    k6.asyncRequest(number, prepared(method, address, body, params));
  });
}

/** One request of a batch: a URL, a list, or an object. */
function member(call: any): { method: string; url: any; body: any; params: any } {
  if (Array.isArray(call)) {
    const [method, url, body, params] = call;
    return { method, url, body, params };
  }
  if (typeof call === "object" && call !== null && !("url" in call && "name" in call && Object.keys(call).length === 2)) {
    return { method: call.method ?? "GET", url: call.url, body: call.body, params: call.params };
  }
  return { method: "GET", url: call, body: null, params: undefined };
}

export function batch(calls: any): any {
  const names = Object.keys(calls);
  const members = names.map((name) => member(calls[name]));
  const responses: Response[] = k6.batch(members.map(({ method, url, body, params }) => prepared(method, url, body, params)));
  responses.forEach((response, index) => checked(response, members[index].params));
  return Array.isArray(calls) ? responses : Object.fromEntries(names.map((name, index) => [name, responses[index]]));
}

export const cookieJar = () => parts().vuJar();

/** A separate jar, for the parameter `jar`. */
export function CookieJar() {
  return new (parts().CookieJar)();
}

export const [TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3] = ["tls1.0", "tls1.1", "tls1.2", "tls1.3"];

export default {
  request, get, head, post, put, patch, del, options, asyncRequest, batch, file, url, expectedStatuses, setResponseCallback, cookieJar, CookieJar, Response,
  TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3,
};
