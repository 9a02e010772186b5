// The module "k6/ws".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("websocket");

const GOING_AWAY = 1001;
const EVENTS = ["open", "message", "binaryMessage", "close", "error", "ping", "pong"];

class SocketTimer {
  at: number;
  every: number | undefined;
  run: () => void;

  constructor(at: number, every: number | undefined, run: () => void) {
    this.at = at;
    this.every = every;
    this.run = run;
  }
}

/** The socket that the function of `connect` receives. */
class Socket {
  #number: number | undefined;
  #handlers: Record<string, any[]> = {};
  #timers: SocketTimer[] = [];
  #pings = 0;

  constructor(number: number | undefined) {
    this.#number = number;
  }

  on(event: string, handler: any) {
    if (typeof handler !== "function") throw new TypeError(`socket.on("${event}", …) expects a function`);
    if (EVENTS.includes(event)) (this.#handlers[event] ??= []).push(handler);
  }

  send(message: any) {
    this.#sent((number) => k6.socketSend(number, typeof message === "string" ? message : String(message)));
  }

  sendBinary(message: any) {
    if (!(message instanceof ArrayBuffer)) throw new TypeError("socket.sendBinary(…) expects an ArrayBuffer");
    this.#sent((number) => k6.socketSend(number, message));
  }

  ping() {
    this.#sent((number) => k6.socketPing(number, String(++this.#pings)));
  }

  setTimeout(run: any, ms: number) {
    this.#schedule("setTimeout", run, ms, false);
  }

  setInterval(run: any, ms: number) {
    this.#schedule("setInterval", run, ms, true);
  }

  /** As in k6, it does not wait for the server. */
  close(code?: number) {
    if (this.#number === undefined) return;
    const number = this.#number;
    this.#number = undefined;
    const sent = code === undefined ? GOING_AWAY : Number(code);
    k6.socketClose(number, sent, "", true);
    this.#call("close", sent);
  }

  /** Handles events until the socket is closed. */
  run() {
    this.#call("open");
    while (this.#number !== undefined) {
      const next = this.#timers.reduce((first: SocketTimer | undefined, timer) => (!first || timer.at < first.at ? timer : first), undefined);
      const wait = next && next.at - Date.now();
      if (next && wait !== undefined && wait <= 0) {
        if (next.every === undefined) this.#timers.splice(this.#timers.indexOf(next), 1);
        else next.at += next.every;
        next.run();
        continue;
      }
      const event = k6.socketEvent(this.#number, wait);
      if (event !== undefined) this.#handle(event);
    }
  }

  #handle(event: any) {
    switch (event.kind) {
      case "message":
        return this.#call("message", event.data);
      case "binary":
        return this.#call("binaryMessage", event.data);
      case "pong":
        return this.#call("pong");
      case "close":
        this.#number = undefined;
        if (![1000, GOING_AWAY].includes(event.code)) this.fails(`websocket: close ${event.code}${event.reason ? `: ${event.reason}` : ""}`);
        return this.#call("close", event.code);
      default:
        this.#number = undefined;
        this.fails(event.data);
        return this.#call("close", GOING_AWAY);
    }
  }

  fails(message: string) {
    this.#call("error", new WebSocketError(message));
  }

  #call(event: string, ...values: any[]) {
    for (const handler of this.#handlers[event] ?? []) handler(...values);
  }

  /** As in k6, a problem is an event, not an exception. */
  #sent(send: (number: number) => string | undefined | null) {
    const problem = this.#number === undefined ? "websocket: close sent" : send(this.#number);
    if (problem) this.fails(problem);
  }

  #schedule(what: string, run: any, ms: number, repeats: boolean) {
    if (typeof run !== "function") throw new TypeError(`socket.${what}(…) expects a function`);
    if (!(Number(ms) > 0)) throw new Error(`socket.${what}(…) expects more than 0 milliseconds`);
    this.#timers.push(new SocketTimer(Date.now() + Number(ms), repeats ? Number(ms) : undefined, run));
  }
}

/** What the handler of `error` receives. */
class WebSocketError {
  message: string;

  constructor(message: string) {
    this.message = message;
  }

  error() {
    return this.message;
  }

  toString() {
    return this.message;
  }
}

/** Opens a socket and returns the server's response when it is closed. */
export function connect(url: string, ...rest: any[]): any {
  const [params, setUp] = rest.length > 1 ? rest : [undefined, rest[0]];
  if (typeof setUp !== "function") throw new TypeError("ws.connect(url, params, function) expects a function that sets up the socket");
  const { socket: number, protocol: _, ...response } = k6.openSocket(k6.socketCall(url, [], params));
  const socket = new Socket(number ?? undefined);
  if (number === undefined || number === null) {
    if (k6.throws()) throw new Error(response.error);
    console.warn(`k6/ws: ${url}: ${response.error}`);
    return response;
  }
  try {
    setUp(socket);
    socket.run();
  } catch (error) {
    socket.close(GOING_AWAY);
    throw error;
  }
  return response;
}

export default { connect };
