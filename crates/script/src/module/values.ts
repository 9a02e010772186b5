// Reading the values that people write: durations, rates, shares, counts. Each error names the value and its remedy.

export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "a list" : "an object";
}

/** A duration in whole nanoseconds. */
export function nanoseconds(value: unknown, what: string): number {
  if (typeof value !== "string") {
    throw new TypeError(`${what}: ${show(value)} is not a duration: write it as "500ms", "30s", "1m30s" or "2h"`);
  }
  return __loadstone.duration(value);
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

const PER_SECOND: Record<string, number> = { s: 1, m: 60, min: 60, h: 3600 };

/** A rate per second: a number, or a text such as "90/m". */
export function perSecond(value: unknown, what: string): number {
  if (typeof value === "string") {
    const parts = /^\s*([\d.]+)\s*\/\s*(s|m|min|h)\s*$/.exec(value);
    if (parts && Number.isFinite(Number(parts[1]))) return Number(parts[1]) / PER_SECOND[parts[2]!]!;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new RangeError(`${what}: ${show(value)} is not a rate: write a number per second, or "90/m" or "5000/h"`);
  }
  return value;
}

/** A share from 0 to 1: a number, or a text such as "1%". */
export function share(value: unknown, what: string): number {
  let result = value;
  if (typeof value === "string") {
    const parts = /^\s*([\d.]+)\s*%\s*$/.exec(value);
    if (parts) result = Number(parts[1]) / 100;
  }
  if (typeof result !== "number" || !(result >= 0 && result <= 1)) {
    throw new RangeError(`${what}: ${show(value)} is not a share: write 0.01 or "1%"`);
  }
  return result;
}

/** A text that is not empty. */
export function name(value: unknown, what: string): string {
  if (typeof value !== "string" || value.trim() === "") throw new TypeError(`${what}: ${show(value)} is not a name`);
  return value;
}

/** Rejects keys that mean nothing, so that a slip of the pen is not silence. */
export function known(value: object, keys: readonly string[], what: string) {
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) throw new TypeError(`${what}: unknown option \`${key}\`; expected one of: ${keys.join(", ")}`);
  }
}

export function milliseconds(duration: string): number {
  return nanoseconds(duration, "milliseconds(…)") / 1e6;
}
