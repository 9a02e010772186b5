// `stub.tcp(…)`. This file builds the data of `stub::TcpSpec`.
import { BEHAVIOUR, SERVER, behaviour, listens, replied, stubs } from "loadstone:answers";
import { known, show, strict } from "loadstone:values";

const STUB = [...SERVER, ...BEHAVIOUR, "until", "length", "greeting", "answer", "echo", "close"];
const REPLY = ["answer", "delay", "close"];

type Handler = (request: any) => any;

class TcpStub {
  constructor(readonly address: string) {}
}

strict(TcpStub);

const encoded = (text: string) => new TextEncoder().encode(text);

/** A string as UTF-8, or bytes. */
function bytes(value: unknown, what: string): number[] {
  if (typeof value === "string") return [...encoded(value)];
  if (value instanceof Uint8Array) return [...value];
  throw new TypeError(`${what}: expected a string or a Uint8Array, got ${show(value)}`);
}

/** `stub.tcp(options)` and `stub.tcp(options, function)`. */
export function tcp(options: any = {}, handle?: Handler): TcpStub {
  const what = "stub.tcp(…)";
  const { until, greeting, answer, ...rest } = behaviour(options, STUB, what);
  if (handle !== undefined && typeof handle !== "function") throw new TypeError(`${what}: ${show(handle)} is not a function that takes a request`);
  if (answer !== undefined && rest.echo) throw new TypeError(`${what}: expected only one of answer and echo`);
  if (rest.limit?.reject !== undefined) throw new TypeError(`${what} limit: a limit closes the connection without an answer: leave \`reject\` out`);
  const plan: any = { ...rest, kind: "tcp", handler: handle !== undefined };
  if (until !== undefined) plan.until = bytes(until, `${what} until`);
  if (greeting !== undefined) plan.greeting = bytes(greeting, `${what} greeting`);
  if (answer !== undefined) plan.answer = bytes(answer, `${what} answer`);
  const tcpStub = new TcpStub(listens(rest, what, "127.0.0.1:9100").replace(/^https?:\/\//, ""));
  stubs.push({ plan: () => plan, handle: (_, request) => replied(handle!(request), reply) });
  return tcpStub;
}

function reply(value: any): any {
  if (value === undefined || value === null) return undefined;
  const what = "the answer of a TCP stub";
  const reply = typeof value === "string" || value instanceof Uint8Array ? { answer: value } : value;
  if (typeof reply !== "object") throw new TypeError(`${what} is a string, a Uint8Array or an object such as { answer: "OK\\n" }, not ${show(value)}`);
  known(reply, REPLY, what);
  const { answer, delay, close } = reply;
  if (close !== undefined && typeof close !== "boolean") throw new TypeError(`${what} close: ${show(close)} is not true or false`);
  if (answer !== undefined && typeof answer !== "string" && !(answer instanceof Uint8Array)) bytes(answer, what);
  return { answer: typeof answer === "string" ? encoded(answer) : answer, delay, close: close ?? false };
}
