// The recording server: raw bytes on loopback ports. Each row of each client has its own port, so every byte belongs to a known row.
//
// It parses only what it must know to answer: where a head ends, and where its body ends. What it records are the bytes.

import net from "node:net";

/** The answer to a request for which the row has none. */
export const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/** A body that announces more than it has is answered after this silence. */
const INCOMPLETE_AFTER_MS = 1200;

/** One row as one client runs it: its ports, and the requests that arrive. */
export class Recording {
  requests = [];
  #connections = 0;
  #servers = [];
  #sockets = new Set();
  origins = {};

  constructor(answers = []) {
    this.answers = answers;
  }

  /** Listens on one port per name: `o` is the row's origin, `other` a second one, `v6` an origin at [::1]. Returns whether this machine has them. */
  async listen(names) {
    for (const name of names) {
      const server = net.createServer({ noDelay: true }, (socket) => this.#serve(socket, name));
      const address = name === "v6" ? "::1" : "127.0.0.1";
      const error = await new Promise((resolve) => server.once("error", resolve).listen(0, address, () => resolve()));
      if (name === "v6" && error) return false;
      if (error) throw error;
      this.#servers.push(server);
      this.origins[name] = name === "v6" ? `[::1]:${server.address().port}` : `127.0.0.1:${server.address().port}`;
    }
    return true;
  }

  close() {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Replaces `{o}`, `{other}`, `{v6}` and `{port}` by the addresses of this recording. */
  fill(text) {
    return text.replace(/\{(o|other|v6)\}/g, (all, name) => this.origins[name] ?? all).replaceAll("{port}", this.origins.o.split(":").at(-1));
  }

  /** The reverse of {@link fill}. */
  blank(text) {
    let blank = text;
    for (const [name, address] of Object.entries(this.origins)) blank = blank.replaceAll(address, `{${name}}`);
    return blank.replace(new RegExp(`:${this.origins.o.split(":").at(-1)}\\b`, "g"), ":{port}");
  }

  #serve(socket, on) {
    let number = 0;
    let bytes = Buffer.alloc(0);
    let timer;
    let busy = false;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
    const next = async () => {
      if (busy) return;
      busy = true;
      for (;;) {
        const request = split(bytes);
        if (!request) break;
        if (!request.complete) {
          clearTimeout(timer);
          timer = setTimeout(() => {
            busy = true;
            void take({ ...request, size: bytes.length, incomplete: true }).then(() => socket.end());
          }, INCOMPLETE_AFTER_MS);
          if (/^expect: *100-continue/im.test(request.head) && !socket.continued) {
            socket.continued = true;
            socket.write("HTTP/1.1 100 Continue\r\n\r\n");
          }
          break;
        }
        clearTimeout(timer);
        if (!(await take(request))) return;
      }
      busy = false;
    };
    const take = async (request) => {
      bytes = bytes.subarray(request.size);
      number ||= ++this.#connections;
      this.requests.push({ on, connection: number, ...request });
      const answer = this.answers[this.requests.length - 1] ?? (request.head.startsWith("HEAD ") ? OK.slice(0, -2) : OK);
      return this.#answer(socket, answer);
    };
    socket.on("data", (data) => {
      bytes = Buffer.concat([bytes, data]);
      void next();
    });
  }

  /** An answer is bytes, or a list of bytes, pauses in ms, `"close"` (FIN) and `"reset"` (RST). Returns whether the connection remains open. */
  async #answer(socket, answer) {
    for (const step of Array.isArray(answer) ? answer : [answer]) {
      if (typeof step === "number") await new Promise((resolve) => setTimeout(resolve, step));
      else if (step === CLOSE) return void socket.end();
      else if (step === RESET) return void socket.resetAndDestroy();
      else socket.write(typeof step === "string" ? Buffer.from(this.fill(step)) : step);
    }
    return true;
  }
}

export const CLOSE = Symbol("close");
export const RESET = Symbol("reset");

/** The first request in these bytes, if its head is complete. */
function split(bytes) {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = bytes.subarray(0, end + 2).toString("latin1");
  const rest = bytes.subarray(end + 4);
  if (/^transfer-encoding: *chunked *\r$/im.test(head)) {
    const body = unchunk(rest);
    return body ? { head, body: body.bytes, trailers: body.trailers, framing: "chunked", size: end + 4 + body.size, complete: true } :
      { head, body: rest, framing: "chunked", complete: false };
  }
  const length = Number(/^content-length: *(\d+) *\r$/im.exec(head)?.[1] ?? 0);
  const framing = /^content-length:/im.test(head) ? `length ${/^content-length: *(.*?) *\r$/im.exec(head)[1]}` : "none";
  const complete = rest.length >= length;
  return { head, body: rest.subarray(0, length), framing, size: end + 4 + length, complete };
}

function unchunk(bytes) {
  const chunks = [];
  let at = 0;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    at = line + 2;
    if (size === 0) {
      if (bytes.subarray(at, at + 2).toString() === "\r\n") return { bytes: Buffer.concat(chunks), trailers: "", size: at + 2 };
      const end = bytes.indexOf("\r\n\r\n", at);
      return end < 0 ? undefined : { bytes: Buffer.concat(chunks), trailers: bytes.subarray(at, end).toString("latin1"), size: end + 4 };
    }
    if (!(size > 0) || bytes.length < at + size + 2) return undefined;
    chunks.push(bytes.subarray(at, at + size));
    at += size + 2;
  }
}
