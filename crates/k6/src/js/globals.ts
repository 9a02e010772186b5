// Globals of k6 scripts. Evaluated before a script in every VU.
declare const globalThis: any;
const k6 = globalThis.__k6;

globalThis.__VU = k6.vu;
globalThis.__ENV = k6.variables();

// Functions that operations call when they complete, by number.
const waiting = new Map<number, (value: any) => void>();
const repeating = new Set<number>();
let numbers = 0;

/** Calls `done` when the operation of the returned number completes, or each time until it is unregistered. */
k6.register = (done: (value: any) => void, repeats = false): number => {
  numbers = (numbers + 1) % 0x7fffffff;
  waiting.set(numbers, done);
  if (repeats) repeating.add(numbers);
  return numbers;
};
k6.unregister = (number: number) => {
  waiting.delete(number);
  repeating.delete(number);
};

/** An operation has ended. */
k6.complete = (number: number, value: any) => {
  const done = waiting.get(number);
  if (!repeating.has(number)) waiting.delete(number);
  done?.(value);
};

/** A time limit in milliseconds. */
k6.milliseconds = (timeout: any, otherwise: number): number => {
  if (timeout === undefined || timeout === null) return otherwise;
  if (typeof timeout === "number") return timeout;
  const units: Record<string, number> = { h: 3600000, m: 60000, s: 1000, ms: 1, us: 0.001, "µs": 0.001, ns: 0.000001 };
  const text = String(timeout).trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) throw new Error(`invalid timeout "${text}": write "30s", or a number of milliseconds`);
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) sum += Number(number) * units[unit];
  return sum;
};

k6.bytesOf = (data: any): ArrayBuffer =>
  ArrayBuffer.isView(data) ? (new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice().buffer as ArrayBuffer) : data;

/** The opening of a WebSocket, in the form of the native function. */
k6.socketCall = (url: any, protocols: string[], params: any) => {
  const { headers = {}, tags, compression, jar } = params ?? {};
  if (compression !== undefined && compression !== "" && compression !== "deflate") throw new Error(`unsupported compression "${compression}": use "deflate"`);
  const lines = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { url: String(url), protocols, headers: lines, tags, compression: compression === "deflate", jar: jar && k6.httpParts?.nativeJar(jar) };
};

let scenarioVariables: string | undefined;
let parsed: { value: any } | undefined;

/** The result of `setup`. As in k6, each VU has a copy. */
const setUpData = () => {
  if (!parsed) {
    const json = k6.setUpData();
    parsed = { value: json === undefined || json === null ? undefined : JSON.parse(json) };
  }
  return parsed.value;
};

/** An iteration begins: nothing of an earlier one is waited for. Returns the argument of its function. */
k6.begin = (iteration: number, variables: string | undefined, takesData: boolean) => {
  waiting.clear();
  repeating.clear();
  globalThis.__ITER = iteration;
  if (variables !== scenarioVariables) {
    scenarioVariables = variables;
    globalThis.__ENV = Object.assign(k6.variables(), variables ? JSON.parse(variables) : {});
  }
  return takesData ? setUpData() : undefined;
};

const shown = (value: any): string => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
  if (typeof value === "object" && value !== null) {
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return String(value);
    }
  }
  return String(value);
};
const print = (...values: any[]) => k6.print(values.map(shown).join(" "));
globalThis.console = { log: print, info: print, debug: print, warn: print, error: print, trace: print };

globalThis.open = (path: string, mode?: string) => k6.open(String(path), mode === "b");

const schedule = (repeats: boolean) => (callback: any, ms?: number, ...rest: any[]) => {
  if (typeof callback !== "function") throw new TypeError("setTimeout and setInterval expect a function");
  const delay = Number(ms) || 0;
  const number = k6.register(() => {
    if (repeats) k6.timer(number, delay);
    callback(...rest);
  }, repeats);
  k6.timer(number, delay);
  return number;
};
const clear = (number: any) => {
  if (k6.stopTimer(number)) k6.unregister(number);
};
globalThis.setTimeout = schedule(false);
globalThis.setInterval = schedule(true);
globalThis.clearTimeout = clear;
globalThis.clearInterval = clear;

const hex = (byte: number) => byte.toString(16).padStart(2, "0");
const randomBytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(Math.random() * 256));
const unsupported = (what: string): never => {
  throw new Error(`Loadstone does not support ${what}: see docs/k6-compatibility.md, or run this script with k6`);
};
globalThis.crypto = {
  getRandomValues: (array: any) => {
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(randomBytes(array.byteLength));
    return array;
  },
  randomUUID: () => {
    const b = randomBytes(16);
    b[6] = (b[6] & 15) | 64;
    b[8] = (b[8] & 63) | 128;
    const text = Array.from(b, hex).join("");
    return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
  },
  subtle: new Proxy({} as any, {
    get: (_, name) => {
      if (typeof name === "symbol") return undefined;
      // Few scripts use it, and each VU has its own copy of a module.
      if (k6.subtleMembers === undefined) k6.load("k6:subtle");
      return k6.subtleMembers[name] ?? unsupported(`crypto.subtle.${name}`);
    },
  }),
};
