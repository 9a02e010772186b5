// The classes of https://jslib.k6.io/httpx.
import http from "k6/http";

/** A request for `Httpx.batch`. */
export class Request {
  constructor(public method: string, public url: any, public body: any = null, public params: any = {}) {}
}
const requestOf = (method: string) =>
  class extends Request {
    constructor(url: any, body: any = null, params: any = {}) {
      super(method, url, body, params);
    }
  };
export const Get = requestOf("GET");
export const Post = requestOf("POST");
export const Put = requestOf("PUT");
export const Patch = requestOf("PATCH");
export const Delete = requestOf("DELETE");
export const Options = requestOf("OPTIONS");
export const Head = requestOf("HEAD");

/** A session with a base URL, headers and tags. */
export class Httpx {
  baseURL: string;
  params: any;

  constructor(options: any = {}) {
    this.baseURL = options.baseURL ?? "";
    this.params = { headers: { ...options.headers }, tags: { ...options.tags }, timeout: options.timeout ?? 60000 };
    for (const [name, value] of Object.entries(options)) if (!["baseURL", "headers", "tags", "timeout"].includes(name)) this.params[name] = value;
  }

  setBaseUrl(url: string) { this.baseURL = url; }
  addHeader(name: string, value: any) { this.params.headers[name] = value; }
  addHeaders(headers: any) { Object.assign(this.params.headers, headers); }
  clearHeader(name: string) { delete this.params.headers[name]; }
  addTag(name: string, value: any) { this.params.tags[name] = value; }
  addTags(tags: any) { Object.assign(this.params.tags, tags); }
  clearTag(name: string) { delete this.params.tags[name]; }
  setTimeout(timeout: any) { this.params.timeout = timeout; }
  setTags(tags: any) { this.addTags(tags); }

  #address(url: any): any {
    const whole = (path: string) => (/^https?:\/\//.test(path) ? path : this.baseURL + path);
    return typeof url === "object" && url !== null ? { ...url, url: whole(url.url) } : whole(String(url));
  }
  #merged(params: any): any {
    return {
      ...this.params,
      ...params,
      headers: { ...this.params.headers, ...params?.headers },
      tags: { ...this.params.tags, ...params?.tags },
    };
  }

  request(method: string, url: any, body: any = null, params: any = {}): any {
    return http.request(method, this.#address(url), body, this.#merged(params));
  }
  asyncRequest(method: string, url: any, body: any = null, params: any = {}): any {
    return http.asyncRequest(method, this.#address(url), body, this.#merged(params));
  }
  get(url: any, body: any = null, params: any = {}) { return this.request("GET", url, body, params); }
  post(url: any, body: any = null, params: any = {}) { return this.request("POST", url, body, params); }
  put(url: any, body: any = null, params: any = {}) { return this.request("PUT", url, body, params); }
  patch(url: any, body: any = null, params: any = {}) { return this.request("PATCH", url, body, params); }
  delete(url: any, body: any = null, params: any = {}) { return this.request("DELETE", url, body, params); }
  options(url: any, body: any = null, params: any = {}) { return this.request("OPTIONS", url, body, params); }
  head(url: any, body: any = null, params: any = {}) { return this.request("HEAD", url, body, params); }

  batch(requests: any[], params: any = {}): any {
    return http.batch(
      requests.map(({ method, url, body, params: own }: any) => ({
        method,
        url: this.#address(url),
        body,
        params: this.#merged({ ...params, ...own, headers: { ...params.headers, ...own?.headers }, tags: { ...params.tags, ...own?.tags } }),
      })),
    );
  }
}

/** Calls a function with a session, as an old version of the library does. */
export const test = (_name: string, run: any) => run(new Httpx());
