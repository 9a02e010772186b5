// Parses the values that users write: durations, rates, shares, counts. Each error names the value and its remedy.

export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "a list" : "an object";
}

/** A duration in whole nanoseconds. */
export function nanoseconds(value: unknown, what: string): number {
  if (typeof value !== "string") {
    throw new TypeError(`${what}: ${show(value)} is not a duration: expected a string such as "500ms", "30s", "1m30s" or "2h"`);
  }
  return __loadstone.duration(value, what);
}

/** Whole seconds, at least one. */
export function wholeSeconds(value: unknown, what: string): number {
  const seconds = nanoseconds(value, what) / 1e9;
  if (seconds < 1 || !Number.isInteger(seconds)) throw new RangeError(`${what}: ${show(value)} is not a whole number of seconds`);
  return seconds;
}

/** A finite number, at least `min`. */
export function number(value: unknown, what: string, min = 0): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < min) {
    throw new RangeError(`${what}: ${show(value)} is not a number of at least ${min}`);
  }
  return value;
}

/** A whole number, at least `min`. */
export function whole(value: unknown, what: string, min = 0): number {
  if (!Number.isSafeInteger(value) || (value as number) < min) {
    throw new RangeError(`${what}: ${show(value)} is not a whole number of at least ${min}`);
  }
  return value as number;
}

/** A rate per second: a number, or a string such as "90/min". */
export function perSecond(value: unknown, what: string): number {
  if (typeof value === "string") return __loadstone.rate(value, what);
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new RangeError(`${what}: ${show(value)} is not a rate: expected a number per second, or a string such as "90/min" or "5000/h"`);
  }
  return value;
}

/** A share from 0 to 1: a number, or a string such as "1%". */
export function share(value: unknown, what: string): number {
  if (typeof value === "string") return __loadstone.share(value, what);
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${what}: ${show(value)} is not a share: expected a number from 0 to 1, or a string such as "1%"`);
  }
  return value;
}

/** Tags as strings by name, in the form of `metrics::Tags`. */
export function tags(value: any, what: string): Record<string, string> {
  if (value === undefined) return {};
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new TypeError(`${what}: tags are an object of names and values, not ${show(value)}`);
  }
  return Object.fromEntries(Object.entries(value).map(([tag, text]) => {
    if (typeof text !== "string" && typeof text !== "number" && typeof text !== "boolean") {
      throw new TypeError(`${what}: the tag \`${tag}\` must be a string, a number or a boolean`);
    }
    return [tag, String(text)];
  }));
}

/** A string that is not empty. */
export function name(value: unknown, what: string): string {
  if (typeof value !== "string" || value.trim() === "") throw new TypeError(`${what}: expected a text that is not empty, got ${show(value)}`);
  return value;
}

/** Rejects unknown keys, so that a misspelt option is an error. */
export function known(value: object, keys: readonly string[], what: string) {
  if (value === null || typeof value !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(value)}`);
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) throw new TypeError(__loadstone.unknownOption(what, key, keys));
  }
}

/** The same for options that may be left out. */
export function knownIn(value: any, keys: readonly string[], what: string) {
  if (value !== undefined && value !== null) known(value, keys, what);
}

/**
 * Ends the prototype chain of classes with a proxy: reading a name that their objects do not have is an error at once, not `undefined` that
 * fails later.
 */
export function strict(...classes: (abstract new (...parameters: any[]) => object)[]) {
  for (const { prototype } of classes) refuse(prototype, (name, of) => missing(name, nearest(name, of)));
}

/** An object that represents a part of the module, such as `stub`. The error for an unknown name lists the known ones. */
export function members<T extends object>(what: string, of: T): T {
  const names = Object.keys(of);
  refuse(of, (name) => {
    const near = __loadstone.nearest(name, names);
    const meant = near === "" ? "" : ` (did you mean \`${what}.${near}\`?)`;
    return `there is no \`${what}.${name}\`${meant}; there is: ${names.map((known) => `${what}.${known}`).join(", ")}`;
  });
  return of;
}

/** The same for objects to which scripts may add properties: only a name that is similar to one of theirs is an error. */
export function lenient(prototype: object) {
  refuse(prototype, slip);
}

/** The error for a name that is similar to one of an object's names. */
export function slip(name: string, of: object): string | undefined {
  const near = nearest(name, of);
  return near === "" ? undefined : missing(name, near);
}

function missing(name: string, near: string): string {
  return `there is no \`${name}\` here${near === "" ? "" : ` (did you mean \`${near}\`?)`}`;
}

function nearest(name: string, of: object): string {
  return __loadstone.nearest(name, namesOf(of));
}

/** `problem`: the error for a name that an object does not have. `undefined` where it is allowed. */
function refuse(prototype: object, problem: (name: string, of: object) => string | undefined) {
  const end = new Proxy(Object.create(Object.getPrototypeOf(prototype)), {
    get(target, name, receiver) {
      if (typeof name === "string" && !(name in target)) {
        const text = problem(name, receiver);
        if (text !== undefined) throw new TypeError(text);
      }
      return Reflect.get(target, name, receiver);
    },
  });
  // `await` and `JSON.stringify` read these names of any value. Asking the proxy would cost a tenth of a scripted request, so they are
  // found before it.
  const nothing = { value: undefined, writable: true, configurable: true };
  Object.setPrototypeOf(prototype, Object.create(end, { then: nothing, toJSON: nothing }));
}

function namesOf(of: object): string[] {
  const names: string[] = [];
  for (let at = of; !Object.hasOwn(at, "hasOwnProperty"); at = Object.getPrototypeOf(at)) names.push(...Object.getOwnPropertyNames(at));
  return names.filter((name) => name !== "then" && name !== "toJSON");
}

export function milliseconds(duration: string): number {
  return nanoseconds(duration, "milliseconds(…)") / 1e6;
}
