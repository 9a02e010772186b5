// The modules "k6/websockets" and "k6/experimental/websockets".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("websocket");

const [CONNECTING, OPEN, CLOSING, CLOSED] = [0, 1, 2, 3];
const EVENTS = ["open", "message", "error", "close", "ping", "pong"];
const NORMAL = 1000;

const bytesOf = (data: any): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(k6.bytes(data));

/** Bytes with a media type. */
export class Blob {
  #bytes: Uint8Array;
  type: string;

  constructor(parts: any[] = [], options: any = {}) {
    const pieces = parts.map((part) => (part instanceof Blob ? part.#bytes : bytesOf(part)));
    this.#bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      this.#bytes.set(piece, at);
      at += piece.length;
    }
    this.type = String(options?.type ?? "");
  }

  get size(): number {
    return this.#bytes.length;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer;
  }

  async bytes(): Promise<Uint8Array> {
    return this.#bytes.slice();
  }

  async text(): Promise<string> {
    return k6.text(this.#bytes.slice().buffer);
  }

  slice(start?: number, end?: number, type?: string): Blob {
    return new Blob([this.#bytes.slice(start, end)], { type });
  }

  stream(): never {
    throw new Error("Loadstone does not support `Blob.stream()`: see docs/k6-compatibility.md");
  }
}

export class WebSocket {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;

  url: string;
  protocol = "";
  extensions = "";
  bufferedAmount = 0;
  readyState = CONNECTING;
  onopen: any = null;
  onmessage: any = null;
  onerror: any = null;
  onclose: any = null;
  onping: any = null;
  onpong: any = null;
  #listeners: Record<string, any[]> = {};
  #binaryType: string;
  #number: number | undefined;
  #pings = 0;
  /** Closed by the script before it was open. */
  #closing: { code: number; reason: string } | undefined;

  constructor(url: string, protocols?: any, params?: any) {
    this.url = String(url);
    this.#binaryType = "blob";
    const offered = protocols === undefined || protocols === null ? [] : Array.isArray(protocols) ? protocols.map(String) : [String(protocols)];
    const call = k6.socketCall(this.url, offered, params);
    k6.openSocketAsync(k6.register((opened: any) => this.#opened(opened)), call);
  }

  get binaryType(): string {
    return this.#binaryType;
  }

  set binaryType(type: string) {
    if (type !== "blob" && type !== "arraybuffer") throw new TypeError(`binaryType is "blob" or "arraybuffer", not "${type}"`);
    this.#binaryType = type;
  }

  addEventListener(type: string, listener: any) {
    if (!EVENTS.includes(type)) throw new Error(`WebSocket has no event "${type}"; its events are ${EVENTS.join(", ")}`);
    if (typeof listener !== "function") throw new TypeError(`addEventListener("${type}", …) expects a function`);
    (this.#listeners[type] ??= []).push(listener);
  }

  send(data: any) {
    this.#assertOpen();
    if (data instanceof Blob) {
      data.arrayBuffer().then((bytes) => this.readyState === OPEN && this.#sent(k6.socketSend(this.#number, bytes)));
      return;
    }
    this.#sent(k6.socketSend(this.#number, typeof data === "string" ? data : bytesOf(data).slice().buffer));
  }

  ping() {
    this.#assertOpen();
    this.#sent(k6.socketPing(this.#number, String(++this.#pings)));
  }

  close(code: number = NORMAL, reason: string = "") {
    if (code !== NORMAL && !(code >= 3000 && code <= 4999)) throw new RangeError(`close(${code}): the code is 1000, or from 3000 to 4999`);
    if (this.readyState === CLOSING || this.readyState === CLOSED) return;
    const wasOpen = this.readyState === OPEN;
    this.readyState = CLOSING;
    if (wasOpen) k6.socketClose(this.#number, code, String(reason), false);
    else this.#closing = { code, reason: String(reason) };
  }

  #opened(opened: any) {
    if (opened.socket === undefined || opened.socket === null) return this.#ended(1006, "", opened.error);
    this.#number = opened.socket;
    this.protocol = opened.protocol;
    this.#receive();
    if (this.#closing) return k6.socketClose(this.#number, this.#closing.code, this.#closing.reason, false);
    this.readyState = OPEN;
    this.#dispatch("open", {});
  }

  #receive() {
    k6.socketEventAsync(k6.register((event: any) => this.#event(event)), this.#number);
  }

  #event({ kind, data, code, reason }: any) {
    if (kind === "close") return this.#ended(code, reason);
    if (kind === "error") return this.#ended(code, reason, data);
    this.#receive();
    if (kind === "pong") return this.#dispatch("pong", {});
    if (kind === "message") return this.#dispatch("message", { data });
    this.#dispatch("message", { data: this.#binaryType === "blob" ? new Blob([data]) : data });
  }

  #ended(code: number, reason: string, error?: string) {
    this.readyState = CLOSED;
    this.#number = undefined;
    try {
      if (error !== undefined) this.#dispatch("error", { error });
    } finally {
      this.#dispatch("close", { code, reason, wasClean: error === undefined });
    }
  }

  #dispatch(type: string, members: any) {
    const event = { type, target: this, timestamp: Date.now(), ...members };
    const own = (this as any)[`on${type}`];
    if (typeof own === "function") own.call(this, event);
    for (const listener of this.#listeners[type] ?? []) listener.call(this, event);
  }

  #assertOpen() {
    if (this.readyState === OPEN) return;
    const error = new Error(`InvalidStateError: the WebSocket is ${["connecting", "open", "closing", "closed"][this.readyState]}`);
    error.name = "InvalidStateError";
    throw error;
  }

  #sent(problem: string | undefined | null) {
    if (problem) this.#dispatch("error", { error: problem });
  }
}

export default { WebSocket, Blob };
