// The module "k6/net/grpc".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("digests");
k6.add("grpc");

const CONNECT_TIMEOUT_MS = 60000;
const INVOKE_TIMEOUT_MS = 120000;

export const StatusOK = 0;
export const StatusCanceled = 1;
export const StatusUnknown = 2;
export const StatusInvalidArgument = 3;
export const StatusDeadlineExceeded = 4;
export const StatusNotFound = 5;
export const StatusAlreadyExists = 6;
export const StatusPermissionDenied = 7;
export const StatusResourceExhausted = 8;
export const StatusFailedPrecondition = 9;
export const StatusAborted = 10;
export const StatusOutOfRange = 11;
export const StatusUnimplemented = 12;
export const StatusInternal = 13;
export const StatusUnavailable = 14;
export const StatusDataLoss = 15;
export const StatusUnauthenticated = 16;
export const HealthcheckUnknown = 0;
export const HealthcheckServing = 1;
export const HealthcheckNotServing = 2;
export const HealthcheckServiceUnknown = 3;
const HEALTH = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

const unsupported = (what: string): never => {
  throw new Error(`Loadstone does not support ${what}: see docs/k6-compatibility.md, or run this script with k6`);
};

const only = (what: string, params: any, names: string[]) => {
  const unknown = Object.keys(params ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined) unsupported(`the parameter \`${unknown}\` of ${what}`);
};

/** Pairs of name and value. Values of names that end in `-bin` are bytes. */
const metadataOf = (metadata: any): string[][] =>
  Object.entries(metadata ?? {}).flatMap(([name, value]: [string, any]) =>
    (Array.isArray(value) ? value : [value]).map((one) => {
      const isBytes = one instanceof ArrayBuffer || ArrayBuffer.isView(one);
      if (!name.toLowerCase().endsWith("-bin")) return [name, String(one)];
      return [name, k6.base64(isBytes ? k6.bytesOf(one) : String(one), "rawstd")];
    }),
  );

/** The parameter `tls` of `connect`, with k6's messages. */
const tlsOf = (tls: any) => {
  if (tls === undefined || tls === null) return undefined;
  const refuse = (what: string) => new Error(`invalid grpc.connect() parameters: invalid tls ${what}`);
  if (typeof tls !== "object") throw refuse(`value: '${tls}', expected (optional) keys: cert, key, password, and cacerts`);
  for (const name of ["cert", "key", "password"]) {
    const form = name === "password" ? "string" : "PEM formatted string";
    if (tls[name] !== undefined && typeof tls[name] !== "string") throw refuse(`${name} value, it needs to be a ${form}`);
  }
  const authorities = tls.cacerts === undefined ? [] : Array.isArray(tls.cacerts) ? tls.cacerts : [tls.cacerts];
  if (!authorities.every((authority: any) => typeof authority === "string")) {
    throw refuse("cacerts value, it needs to be a string or an array of PEM formatted strings");
  }
  return { authorities, certificate: tls.cert, key: tls.key, password: tls.password };
};

const messageOf = (message: any): string => {
  if (message === undefined || message === null) throw new Error("request cannot be nil");
  if (typeof message !== "object") throw new TypeError("a gRPC message is an object with the fields of its type");
  return JSON.stringify(message);
};

const callOf = (method: string, message: any, params: any) => {
  only("a gRPC call", params, ["metadata", "tags", "timeout", "discardResponseMessage"]);
  return {
    method: String(method),
    message: message === undefined ? undefined : messageOf(message),
    metadata: metadataOf(params?.metadata),
    tags: params?.tags,
    timeout: k6.milliseconds(params?.timeout, INVOKE_TIMEOUT_MS),
    discards: params?.discardResponseMessage === true,
  };
};

export class Client {
  #number: number = k6.grpcClient();

  /** For streams. */
  get __number(): number {
    return this.#number;
  }

  load(importPaths: any, ...files: string[]): any[] {
    return k6.grpcLoad(this.#number, (importPaths ?? []).map(String), files.map(String));
  }

  loadProtoset(file: string): any[] {
    return k6.grpcLoadSet(this.#number, String(file));
  }

  connect(address: string, params: any = {}): boolean {
    only("connect", params, ["plaintext", "reflect", "reflectMetadata", "timeout", "maxReceiveSize", "maxSendSize", "tls", "authority"]);
    const sendSize = params?.maxSendSize;
    if (sendSize !== undefined && !(Number.isInteger(sendSize) && sendSize >= 0)) {
      throw new Error(`invalid grpc.connect() parameters: invalid maxSendSize value: '${sendSize}', it needs to be a positive integer`);
    }
    const authority = params?.authority ?? "";
    if (typeof authority !== "string") throw new Error(`invalid grpc.connect() parameters: invalid authority value: '${authority}', it needs to be a string`);
    k6.grpcConnect(this.#number, {
      address: String(address),
      plaintext: params?.plaintext === true,
      reflect: params?.reflect === true,
      reflectMetadata: metadataOf(params?.reflectMetadata),
      timeout: k6.milliseconds(params?.timeout, CONNECT_TIMEOUT_MS),
      maxReceiveSize: params?.maxReceiveSize,
      maxSendSize: params?.maxSendSize,
      authority: authority === "" ? undefined : authority,
      tls: tlsOf(params?.tls),
    });
    return true;
  }

  invoke(method: string, message: any, params?: any): any {
    return k6.grpcInvoke(this.#number, callOf(method, message ?? null, params));
  }

  asyncInvoke(method: string, message: any, params?: any): Promise<any> {
    return new Promise((resolve, reject) => {
      try {
        k6.grpcInvokeAsync(k6.register(resolve), this.#number, callOf(method, message ?? null, params));
      } catch (error) {
        reject(error);
      }
    });
  }

  healthCheck(service?: string, params?: any): any {
    const response = this.invoke("grpc.health.v1.Health/Check", { service: service ?? "" }, params);
    if (response.message) response.message.status = Math.max(0, HEALTH.indexOf(response.message.status));
    return response;
  }

  close() {
    k6.grpcClose(this.#number);
  }
}

const EVENTS = ["data", "error", "end"];

export class Stream {
  #client: number;
  #number: number;
  #method: string;
  #tags: any;
  #handlers: Record<string, any[]> = {};
  #ended = false;

  constructor(client: Client, method: string, params?: any) {
    if (!(client instanceof Client)) throw new TypeError("new grpc.Stream(client, method, params) expects a gRPC client");
    this.#client = client.__number;
    this.#method = String(method);
    this.#tags = params?.tags;
    const events: number = k6.register((event: any) => this.#event(events, event), true);
    try {
      const call = callOf(method, undefined, params);
      this.#number = k6.grpcStream(this.#client, { ...call, timeout: params?.timeout === undefined ? undefined : call.timeout, events });
    } catch (error) {
      k6.unregister(events);
      throw error;
    }
  }

  on(event: string, handler: any) {
    if (!EVENTS.includes(event)) throw new Error(`a gRPC stream has no event "${event}"; its events are ${EVENTS.join(", ")}`);
    if (typeof handler !== "function") throw new TypeError(`stream.on("${event}", …) expects a function`);
    (this.#handlers[event] ??= []).push(handler);
  }

  write(message: any) {
    if (this.#ended) return;
    k6.grpcWrite(this.#client, { stream: this.#number, method: this.#method, message: messageOf(message), tags: this.#tags });
  }

  end() {
    if (this.#ended) return;
    this.#ended = true;
    k6.grpcEnd(this.#number);
  }

  #event(events: number, { kind, data, metadata, error }: any) {
    if (kind === "data") return this.#call("data", data, { metadata });
    k6.unregister(events);
    this.#ended = true;
    // As in k6, a call that the script cancelled ends without an error.
    if (error && error.code !== StatusCanceled) this.#call("error", error);
    this.#call("end");
  }

  #call(event: string, ...values: any[]) {
    for (const handler of this.#handlers[event] ?? []) handler(...values);
  }
}

export default {
  Client, Stream, StatusOK, StatusCanceled, StatusUnknown, StatusInvalidArgument, StatusDeadlineExceeded, StatusNotFound, StatusAlreadyExists,
  StatusPermissionDenied, StatusResourceExhausted, StatusFailedPrecondition, StatusAborted, StatusOutOfRange, StatusUnimplemented, StatusInternal,
  StatusUnavailable, StatusDataLoss, StatusUnauthenticated, HealthcheckUnknown, HealthcheckServing, HealthcheckNotServing, HealthcheckServiceUnknown,
};
