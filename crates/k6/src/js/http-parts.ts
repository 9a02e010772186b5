// Parts of "k6/http" that few scripts use: bodies of other types than strings, paths into JSON, cookies, forms. `http.ts` loads them when it needs them.
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("http-parts");

class FileData {
  data: any;
  filename: string;
  content_type: string;

  constructor(data: any, filename?: string, contentType?: string) {
    this.data = data;
    this.filename = filename ?? String(Date.now() * 1e6);
    this.content_type = contentType ?? "application/octet-stream";
  }
}

// Go's url.QueryEscape.
const escape = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, "+");

const isBytes = (value: any) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
const bytesOf = (data: any): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(k6.bytes(data));

const joined = (parts: Uint8Array[]): ArrayBuffer => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all.buffer as ArrayBuffer;
};

const quoted = (text: string) => text.replace(/\\/g, "\\\\").replace(/"/g, '\\"');

/** A body in the form in which it is sent, and the content type that follows from it. */
function encoded(body: any): { body: any; contentType?: string } {
  if (body === undefined || body === null) return { body: null };
  if (typeof body === "string") return { body };
  if (isBytes(body)) return { body: bytesOf(body).slice().buffer };
  if (body instanceof FileData) return { body: typeof body.data === "string" ? body.data : bytesOf(body.data).slice().buffer };
  if (typeof body !== "object") throw new TypeError(unknownBody(body));
  const fields = Object.keys(body);
  if (fields.some((name) => body[name] instanceof FileData)) {
    const boundary = Array.from({ length: 60 }, () => Math.floor(Math.random() * 16).toString(16)).join("");
    const parts: Uint8Array[] = [];
    for (const name of fields) {
      const value = body[name];
      if (value instanceof FileData) {
        const head = `Content-Disposition: form-data; name="${quoted(name)}"; filename="${quoted(value.filename)}"\r\nContent-Type: ${value.content_type}`;
        parts.push(bytesOf(`--${boundary}\r\n${head}\r\n\r\n`), bytesOf(value.data), bytesOf("\r\n"));
      } else {
        parts.push(bytesOf(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${field(value)}\r\n`));
      }
    }
    parts.push(bytesOf(`--${boundary}--\r\n`));
    return { body: joined(parts), contentType: `multipart/form-data; boundary=${boundary}` };
  }
  const pairs = fields.sort().flatMap((name) => {
    const value = body[name];
    return (Array.isArray(value) ? value : [value]).map((one) => `${escape(name)}=${escape(field(one))}`);
  });
  return { body: pairs.join("&"), contentType: "application/x-www-form-urlencoded" };
}

const unknownBody = (body: any) =>
  `unknown request body type ${typeof body === "number" ? (Number.isInteger(body) ? "int64" : "float64") : typeof body === "boolean" ? "bool" : typeof body}`;

/** A field of a form as Go prints it (`%v`), which is what k6 sends. */
function field(value: any): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(field).join(" ")}]`;
  if (typeof value !== "object") return String(value);
  return `map[${Object.keys(value).sort().map((name) => `${name}:${field(value[name])}`).join(" ")}]`;
}

function checkAuth(auth: any) {
  if (auth !== "basic") throw new Error(`Loadstone does not support the authentication "${auth}": see docs/k6-compatibility.md`);
}

/** Compresses a body that is about to be sent. */
function compress(compression: any, sent: any, headers: string[][]) {
  const kinds = String(compression).split(",").map((kind) => kind.trim());
  for (const kind of kinds) sent.body = k6.compress(sent.body, kind);
  headers.push(["Content-Encoding", kinds.join(", ")]);
}

/** A cookie's value as Go's client writes it: without bytes that are not permitted, and in quotes if it has a space or a comma. */
const cookieValue = (value: any): string => {
  const text = String(value).replace(/[^ -~]|["\\;]/g, "");
  return /[ ,]/.test(text) ? `"${text}"` : text;
};

/** The parameter `cookies`: names, values, and whether each replaces that of the jar. */
const callCookies = (given: any): any[][] =>
  Object.entries(given).map(([name, cookie]: [string, any]) =>
    typeof cookie === "object" && cookie !== null ? [name, cookieValue(cookie.value ?? ""), cookie.replace === true] : [name, cookieValue(cookie), false],
  );

// gjson's paths without modifiers and multipaths: names, wildcards, indices, `#`, and queries such as `#(age>4).name`.
const wildcard = (pattern: string) =>
  new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[\\s\\S]*").replace(/\?/g, "[\\s\\S]")}$`);

/** Parts of a path. Dots inside a query or after a backslash do not separate. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  let [part, depth]: [string, number] = ["", 0];
  for (let at = 0; at < path.length; at++) {
    const c = path[at];
    if (c === "\\" && depth === 0) part += path[++at] ?? "";
    else if (c === "." && depth === 0) {
      parts.push(part);
      part = "";
    } else {
      if (c === "(" || c === "[") depth++;
      if (c === ")" || c === "]") depth--;
      part += c;
    }
  }
  return [...parts, part];
}

/** Whether an element satisfies a query: `name=="x"`, `>4`, `tags.#(=="a")`, or `name` for one that exists. */
function satisfies(element: any, query: string, whole: string): boolean {
  const [, path, operator, written] = /^(.*?)\s*(?:(==|!=|<=|>=|<|>|=|!%|%)\s*([\s\S]*))?$/.exec(query.trim()) as any;
  const found = path === "" ? element : select(element, path, whole);
  if (operator === undefined) return found !== undefined;
  if (found === undefined) return false;
  let wanted: any;
  try {
    wanted = JSON.parse(written);
  } catch {
    wanted = written;
  }
  switch (operator) {
    case "=": case "==": return found === wanted;
    case "!=": return found !== wanted;
    case "%": return wildcard(String(wanted)).test(String(found));
    case "!%": return !wildcard(String(wanted)).test(String(found));
    default:
      if (typeof found !== typeof wanted) return false;
      return operator === "<" ? found < wanted : operator === "<=" ? found <= wanted : operator === ">" ? found > wanted : found >= wanted;
  }
}

const select = (value: any, path: string, whole = path): any => selectParts(value, partsOf(path), 0, whole);

/** What `parts` from `index` on select. Not a closure that calls itself: QuickJS would keep each until a collection. */
function selectParts(at: any, parts: string[], index: number, whole: string): any {
  if (index === parts.length) return at;
  if (at === undefined || at === null) return undefined;
  const part = parts[index];
  const next = (element: any) => selectParts(element, parts, index + 1, whole);
  const rest = (elements: any[]) => elements.map(next).filter((found) => found !== undefined);
  if (part === "#" && Array.isArray(at)) return index + 1 === parts.length ? at.length : rest(at);
  const query = /^#\(([\s\S]*)\)(#?)$/.exec(part) ?? /^#\[([\s\S]*)\](#?)$/.exec(part);
  if (query && Array.isArray(at)) {
    if (query[2]) return rest(at.filter((element) => satisfies(element, query[1], whole)));
    return next(at.find((element) => satisfies(element, query[1], whole)));
  }
  if (/^[@!]|[|{}]/.test(part)) {
    throw new Error(`Loadstone does not support "${part}" in the path "${whole}": see docs/k6-compatibility.md`);
  }
  if (typeof at !== "object") return undefined;
  if (/[*?]/.test(part) && !Array.isArray(at)) {
    const matches = wildcard(part);
    const name = Object.keys(at).find((key) => matches.test(key));
    return name === undefined ? undefined : next(at[name]);
  }
  return next(at[part]);
}

// What k6 shows for a cookie that does not expire.
const NO_EXPIRY = -6795364578871;

const cookieOf = (line: string) => {
  const [pair, ...attributes] = line.split(";").map((part) => part.trim());
  const at = pair.indexOf("=");
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
  const cookie: any = { name, value, domain: "", path: "", http_only: false, secure: false, max_age: 0, expires: NO_EXPIRY };
  for (const attribute of attributes) {
    const [key, value = ""] = attribute.split("=");
    switch (key.toLowerCase()) {
      case "domain": cookie.domain = value; break;
      case "path": cookie.path = value; break;
      case "httponly": cookie.http_only = true; break;
      case "secure": cookie.secure = true; break;
      case "max-age": cookie.max_age = Number(value); break;
      case "expires": cookie.expires = Date.parse(attribute.slice(8)) || NO_EXPIRY; break;
    }
  }
  return cookie;
};

function cookiesOf(lines: string[]): Record<string, any[]> {
  const cookies: Record<string, any[]> = {};
  for (const cookie of lines.map(cookieOf)) (cookies[cookie.name] ??= []).push(cookie);
  return cookies;
}

const REASONS: Record<number, string> = {
  200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
  304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
  402: "Payment Required", 405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
  409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Request Entity Too Large", 414: "Request URI Too Long",
  415: "Unsupported Media Type", 416: "Requested Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request",
  422: "Unprocessable Entity", 423: "Locked", 424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required",
  429: "Too Many Requests", 431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons", 501: "Not Implemented",
  203: "Non-Authoritative Information", 205: "Reset Content", 207: "Multi-Status", 300: "Multiple Choices", 305: "Use Proxy",
  505: "HTTP Version Not Supported", 507: "Insufficient Storage", 511: "Network Authentication Required",
  500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
};

/** Sends a form of a page. */
function submitForm(page: any, { formSelector = "form", submitSelector = '[type="submit"]', fields = {}, params = {} }: any, request: any) {
  const form = page.html(formSelector);
  if (form.size() === 0) throw new Error(`no form found for selector '${formSelector}' in response '${page.url}'`);
  const values: Record<string, any> = form.serializeObject();
  const submit = form.find(submitSelector).first();
  if (submit.val() !== undefined && submit.attr("name")) values[submit.attr("name") as string] = submit.val();
  Object.assign(values, fields);
  const address = k6.resolveUrl(form.attr("action") ?? "", page.url);
  const method = (form.attr("method") ?? "get").toUpperCase();
  if (method !== "GET") return request(method, address, values, params);
  const query = encoded(values).body;
  const [plain, fragment] = address.split("#");
  return request("GET", `${plain.split("?")[0]}${query ? `?${query}` : ""}${fragment ? `#${fragment}` : ""}`, null, params);
}

/** Follows a link of a page. */
function clickLink(page: any, { selector = "a[href]", params = {} }: any, request: any) {
  const link = page.html(selector).first();
  if (link.size() === 0) throw new Error(`no element found for selector '${selector}' in response '${page.url}'`);
  const target = link.attr("href");
  if (target === undefined) throw new Error(`no valid href attribute value found on element '${selector}' in response '${page.url}'`);
  return request("GET", k6.resolveUrl(target, page.url), null, params);
}

/** Loadstone asks servers for no OCSP response, which k6 shows as "unknown". */
const ocspOf = (tlsVersion: string) => ({
  produced_at: 0, this_update: 0, next_update: 0, revoked_at: 0, revocation_reason: "", status: tlsVersion === "" ? "" : "unknown",
});

/** A cookie jar: that of the VU, or a separate one. */
class CookieJar {
  #native: any;

  constructor(native?: any) {
    this.#native = native ?? k6.newJar();
  }

  /** What native functions take for the parameter `jar`. As in k6, something else has no effect. */
  static native(jar: any): any {
    return jar instanceof CookieJar ? jar.#native : undefined;
  }

  cookiesForURL(address: string): Record<string, string[]> {
    const cookies: Record<string, string[]> = {};
    for (const pair of (this.#native.cookies(String(address)) ?? "").split("; ").filter(Boolean)) {
      const at = pair.indexOf("=");
      (cookies[pair.slice(0, at)] ??= []).push(pair.slice(at + 1));
    }
    return cookies;
  }

  set(address: string, name: string, value: any, attributes: any = {}) {
    let line = `${name}=${value}`;
    if (attributes.domain) line += `; Domain=${attributes.domain}`;
    if (attributes.path) line += `; Path=${attributes.path}`;
    if (attributes.expires) line += `; Expires=${new Date(attributes.expires).toUTCString()}`;
    if (attributes.max_age) line += `; Max-Age=${attributes.max_age}`;
    if (attributes.secure) line += "; Secure";
    if (attributes.http_only) line += "; HttpOnly";
    this.#native.set(String(address), line);
    return true;
  }

  delete(address: string, name: string) {
    const folder = /^https?:\/\/[^/]+(\/[^?#]*)?/.exec(String(address))?.[1] ?? "/";
    // A cookie belongs to the path that set it: the address's folder, or one above it.
    for (let path = folder; ; path = path.slice(0, path.lastIndexOf("/"))) {
      this.#native.set(String(address), `${name}=; Max-Age=0; Path=${path || "/"}`);
      if (path === "" || path === "/") break;
    }
  }

  clear(address: string) {
    for (const name of Object.keys(this.cookiesForURL(address))) this.delete(address, name);
  }
}

k6.httpParts = {
  encoded, unknownBody, checkAuth, compress, callCookies, select, cookiesOf, REASONS, submitForm, clickLink,
  CookieJar,
  nativeJar: CookieJar.native,
  vuJar: () => new CookieJar(k6.vuJar()),
  ocspOf,
  file: (data: any, filename?: string, contentType?: string) => new FileData(data, filename, contentType),
};
