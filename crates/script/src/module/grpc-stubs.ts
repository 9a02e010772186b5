// `stub.grpc(…)`. This file builds the data of `stub::GrpcSpec`. The host checks messages against their types, at the call in the test
// file.
import { BEHAVIOUR, SERVER, behaviour, listens, replied, stubs, unsealed } from "loadstone:answers";
import { known, show, strict } from "loadstone:values";

const ANSWER = ["message", "messages", "every", "status", "details", "metadata", "trailers"];
const METHOD = [...BEHAVIOUR, ...ANSWER, "gzip"];
const STUB = [...SERVER, ...BEHAVIOUR, "gzip", "status", "details", "metadata", "trailers"];
const REPLY = [...ANSWER, "delay"];

/** By code. */
const STATUSES: string[] = __loadstone.grpcStatuses;

type Handler = (call: any) => any;

function code(status: unknown, what: string): number {
  const code = STATUSES.indexOf(status as string);
  if (code < 0) {
    const near = typeof status === "string" ? __loadstone.nearest(status, STATUSES) : "";
    const meant = near === "" ? "" : ` (did you mean "${near}"?)`;
    throw new TypeError(`${what}: ${show(status)} is not a status of gRPC${meant}: expected one of ${STATUSES.join(", ")}`);
  }
  return code;
}

/** Replaces statuses by codes, and metadata by headers. */
function coded({ status, metadata, trailers, ...rest }: any, what: string): any {
  return {
    ...rest,
    ...(status === undefined ? {} : { status: code(status, `${what} status`) }),
    ...(metadata === undefined ? {} : { headers: __loadstone.grpcMetadata(metadata) }),
    ...(trailers === undefined ? {} : { trailers: __loadstone.grpcMetadata(trailers) }),
  };
}

function options(settings: any, allowed: string[], what: string): any {
  const { faults, limit, ...rest } = coded(behaviour(settings, allowed, what), what);
  const fault = (one: any) => (["reset", "silence", undefined].includes(one?.fault) ? one : { ...one, fault: code(one.fault, `${what} faults`) });
  const reject = limit?.reject === undefined ? {} : { reject: code(limit.reject, `${what} limit reject`) };
  return {
    ...rest,
    ...(faults === undefined ? {} : { faults: faults.map(fault) }),
    ...(limit === undefined ? {} : { limit: { ...limit, ...reject } }),
  };
}

/** The messages of an answer. `undefined` if it sets none. */
function messages({ message, messages }: any, streams: boolean, what: string): any[] | undefined {
  if (message !== undefined && messages !== undefined) throw new TypeError(`${what}: expected only one of message and messages`);
  if (messages === undefined) return message === undefined ? undefined : [message];
  if (!Array.isArray(messages)) throw new TypeError(`${what}: messages are a list of objects, not ${show(messages)}`);
  if (!streams) throw new TypeError(`${what} returns one message: write \`message\` instead of \`messages\``);
  return messages;
}

interface Method {
  method: string;
  streams: boolean;
  options: any;
  handle: Handler | undefined;
}

const planned = ({ method, options, handle }: Method) => ({ method, handler: handle !== undefined, ...options });

class GrpcStub {
  readonly #methods: Method[] = [];

  constructor(readonly url: string, settings: any) {
    stubs.push({
      plan: () => ({ ...settings, kind: "grpc", methods: this.#methods.map(planned) }),
      handle: (number, call) => {
        const { method, streams, handle } = this.#methods[number]!;
        return replied(handle!(call), (value) => reply(method, streams, value));
      },
    });
  }

  on(name: string, handle?: Handler | object, more: object = {}) {
    if (typeof name !== "string") throw new TypeError(`on(…): ${show(name)} is not the name of a method: write it as "package.Service/Method"`);
    const what = `on("${name}")`;
    unsealed(what);
    const [, streams] = __loadstone.grpcMethod(name) as [boolean, boolean];
    const settings = (typeof handle === "function" ? more : (handle ?? more)) as any;
    const { message: _one, messages: _all, ...own } = options(settings, METHOD, what);
    const answers = messages(settings, streams, what)?.map((message) => JSON.parse(__loadstone.grpcMessage(name, message)));
    this.#methods.push({
      method: name.replace(/^\//, ""), streams,
      options: { ...own, ...(answers === undefined ? {} : { messages: answers }) },
      handle: typeof handle === "function" ? handle as Handler : undefined,
    });
    return this;
  }
}

strict(GrpcStub);

/** `stub.grpc(…)`. */
export function grpc(settings: any = {}): GrpcStub {
  const what = "stub.grpc(…)";
  const own = options(settings, STUB, what);
  return new GrpcStub(listens(own, what, "127.0.0.1:50051"), own);
}

function reply(method: string, streams: boolean, value: any): any {
  if (value === undefined || value === null) return undefined;
  const what = `the answer of "${method}"`;
  if (typeof value !== "object") throw new TypeError(`the function of "${method}" answers with an object such as { message: {} }, not ${show(value)}`);
  known(value, REPLY, what);
  const { message: _one, messages: _all, ...rest } = coded(value, what);
  return { headers: [], trailers: [], status: 0, ...rest, messages: messages(value, streams, what) ?? [] };
}
