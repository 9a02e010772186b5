// The module "k6".
declare const globalThis: any;
const k6 = globalThis.__k6;

export function sleep(seconds: number) {
  k6.sleep(Number(seconds));
}

export function fail(message?: string): never {
  throw new Error(message === undefined ? "fail() was called" : String(message));
}

export function check(value: any, checks: Record<string, any>, tags?: any): boolean {
  let passed = true;
  // By index: an iterator takes longer than the check itself.
  const names = Object.keys(checks ?? {});
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    const condition = checks[name];
    let holds: any;
    try {
      holds = typeof condition === "function" ? condition(value) : condition;
    } catch (error) {
      k6.check(name, false, tags);
      throw error;
    }
    if (typeof holds === "object" && holds instanceof Promise) throw new TypeError(`check "${name}": an async function cannot be a check`);
    k6.check(name, Boolean(holds), tags);
    passed = passed && Boolean(holds);
  }
  return passed;
}

export function group(name: string, body: () => any) {
  if (typeof body !== "function") throw new TypeError("group() expects a name and a function");
  if (body.constructor.name === "AsyncFunction") throw new TypeError(`group "${name}": async functions cannot be groups`);
  k6.enterGroup(String(name));
  try {
    const returned = body();
    if (returned instanceof Promise) throw new TypeError(`group "${name}": async functions cannot be groups`);
    return returned;
  } finally {
    k6.leaveGroup();
  }
}

/** A separate generator (mulberry32), so that `Math.random` repeats its numbers. */
export function randomSeed(seed: number) {
  let state = Number(seed) >>> 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export default { sleep, fail, check, group, randomSeed };
