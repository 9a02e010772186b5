//! Helper functions that a translated script may need. The importer appends them to the script.

/// The events of k6's sockets, for both of its interfaces.
const SOCKET: &str = r#"/** A socket with k6's event handlers. The iteration continues until the socket is closed. */
class K6Socket {
  [member: string]: any;
  readyState = 0;
  binaryType = "";
  status = 0;
  error: string | undefined;
  private socket: any;
  private handlers: Record<string, any[]> = {};
  readonly done: Promise<void>;
  constructor(user: User, url: string, params?: any, begin?: (socket: any) => any, private asEvents = true) {
    this.done = this.run(user, url, params, begin);
    (user.state.sockets ??= []).push(this.done);
  }
  private async run(user: User, url: string, params: any, begin: any) {
    await begin?.(this);
    this.socket = await user.ws(url, { headers: params?.headers ?? {} });
    this.error = this.socket.error;
    this.status = this.socket.open ? 101 : 0;
    this.readyState = this.socket.open ? 1 : 3;
    await this.emit(this.socket.open ? "open" : "error", { error: this.error });
    for await (const message of this.socket.messages()) await this.emit("message", this.asEvents ? { data: message.text } : message.text);
    this.readyState = 3;
    await this.emit("close", {});
  }
  private async emit(name: string, event: any) {
    for (const handler of [...(this.handlers[name] ?? []), (this as any)[`on${name}`]]) await handler?.(event);
  }
  on(name: string, handler: (event: any) => any) { (this.handlers[name] ??= []).push(handler); }
  addEventListener(name: string, handler: (event: any) => any) { this.on(name, handler); }
  send(message: any) {
    return this.socket?.send(message instanceof ArrayBuffer ? new Uint8Array(message) : typeof message === "object" ? message : String(message));
  }
  close(code = 1000) { return this.socket?.close(code); }
  async ping() { if (await this.socket?.ping()) await this.emit("pong", {}); }
  setTimeout(run: () => any, milliseconds: number) { return setTimeout(run, milliseconds); }
  setInterval(run: () => any, milliseconds: number) {
    const timer = setInterval(() => (this.readyState === 3 ? clearInterval(timer) : run()), milliseconds);
    return timer;
  }
}
"#;

/// The streams of k6's gRPC client.
const STREAM: &str = r#"/** A gRPC stream of events, as k6 has them. It begins with what is written first; the iteration goes on until it has ended. */
class K6Stream {
  private stream: any;
  private handlers: Record<string, any[]> = {};
  private steps: Promise<void> = Promise.resolve();
  private heard: Promise<void> | undefined;
  constructor(private user: User, private method: string, private options: any = {}) {
    (user.state.streams ??= []).push(this);
  }
  on(name: string, handler: (event: any) => any) { (this.handlers[name] ??= []).push(handler); }
  write(message: any) { this.step(async () => (this.stream ? this.stream.send(message) : this.begin(message))); }
  end() { this.step(async () => { if (!this.stream) await this.begin(); await this.stream.end(); }); }
  async finished() {
    this.step(async () => { if (!this.stream) await this.begin(); });
    await this.steps;
    await this.heard;
  }
  private step(step: () => Promise<void>) { this.steps = this.steps.then(step); }
  private async begin(message?: any) {
    this.stream = await this.user.grpcStream(this.method, message, this.options);
    this.heard = this.listen();
  }
  private async listen() {
    for await (const message of this.stream.messages()) await this.emit("data", message.json());
    const { status, details } = await this.stream.closed;
    if (status !== "OK") await this.emit("error", { code: status, message: details || this.stream.error });
    await this.emit("end");
  }
  private async emit(name: string, event?: any) { for (const handler of this.handlers[name] ?? []) await handler(event); }
}
"#;

/// Name and source; those that are used are added, in this order.
pub(super) const HELPERS: [(&str, &str); 10] = [
    (
        "k6Check",
        r#"/** Makes each of these checks of a subject; whether all of them held. */
function k6Check(user: User, subject: any, checks: Record<string, boolean | ((subject: any) => any)>, options?: { tags?: Record<string, string> }): boolean {
  const held = Object.entries(checks).map(([name, holds]) => {
    return user.check(name, Boolean(typeof holds === "function" ? holds(subject) : holds), options);
  });
  return held.every((one) => one);
}
"#,
    ),
    (
        "k6Payload",
        r#"/** A body that is a text is sent as it is, an object as a form. */
function k6Payload(body: any): any {
  if (body === null || body === undefined) return {};
  return typeof body === "string" || body instanceof Uint8Array ? { body } : { form: body };
}
"#,
    ),
    (
        "k6Batch",
        r#"/** Sends the requests of a list or an object at the same time. */
async function k6Batch(user: User, requests: any): Promise<any> {
  const send = (request: any) => {
    if (typeof request === "string") return user.get(request);
    const [method, url, body, params] = Array.isArray(request) ? request : [request.method ?? "GET", request.url, request.body, request.params];
    return user.request(method, url, { ...k6Payload(body), ...params });
  };
  const responses = await Promise.all(Object.values(requests).map(send));
  return Array.isArray(requests) ? responses : Object.fromEntries(Object.keys(requests).map((name, index) => [name, responses[index]]));
}
"#,
    ),
    (
        "k6Cookies",
        r#"/** The cookies of one request, in addition to those that the user keeps. */
function k6Cookies(cookies: Record<string, any>): string {
  return Object.entries(cookies).map(([name, cookie]) => `${name}=${typeof cookie === "object" ? cookie.value : cookie}`).join("; ");
}
"#,
    ),
    (
        "k6InTurn",
        r#"/** Takes steps for each item of a list, one item after another. */
async function k6InTurn<T, R>(list: readonly T[], steps: (item: T, index: number) => Promise<R> | R): Promise<R[]> {
  const results: R[] = [];
  for (const [index, item] of list.entries()) results.push(await steps(item, index));
  return results;
}
"#,
    ),
    (
        "k6FindBetween",
        r#"/** The text between two others; "" where they are not there. */
function k6FindBetween(text: string, left: string, right: string): string {
  const from = text.indexOf(left);
  if (from < 0) return "";
  const to = text.indexOf(right, from + left.length);
  return to < 0 ? "" : text.slice(from + left.length, to);
}
"#,
    ),
    ("K6Socket", SOCKET),
    ("K6Stream", STREAM),
    (
        "k6Connect",
        r#"/** k6's `ws.connect`: ends when the socket is closed. */
async function k6Connect(user: User, url: string, params: any, begin?: (socket: any) => any): Promise<any> {
  const socket = typeof params === "function" ? new K6Socket(user, url, undefined, params, false) : new K6Socket(user, url, params, begin, false);
  await socket.done;
  return socket;
}
"#,
    ),
    (
        "k6Hasher",
        r#"/** A hash that is given its text bit by bit. */
function k6Hasher(name: any, key?: any) {
  let text = "";
  const encodings: Record<string, any> = { base64rawurl: "base64url", binary: "bytes" };
  return {
    update: (more: string) => void (text += more),
    digest: (encoding: string): any => {
      const as = encodings[encoding] ?? encoding;
      return key === undefined ? hash(name, text, as) : hmac(name, key, text, as);
    },
  };
}
"#,
    ),
];
