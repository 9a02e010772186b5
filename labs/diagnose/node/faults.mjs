// The faults that a service carries in itself, around each of its requests. See ../README.md for what each setting means.

import { setTimeout as sleep } from "node:timers/promises";

/** What answers instead of the request's own handler. */
export class Refused extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

export class Faults {
  #settings;
  /** When the first request came: what happens "from" an instant counts from there. */
  #first;
  #busy = new Map();
  #kept = [];
  #second = { start: 0, count: 0 };
  #limited = 0;

  constructor(settings) {
    this.#settings = settings;
  }

  /** Runs a request's handler with everything that is wrong with it. */
  async around(name, handle) {
    this.#first ??= performance.now();
    const { workers, work, mutex, leak, live, garbage, last } = this.#settings;
    if (leak) this.#kept.push(Buffer.alloc(leak, 1));
    if (live) this.#litter(live, garbage);
    await this.#stalled();
    await this.#rateLimited();
    this.#fail(name);
    await this.#warmingUp();
    const inMutex = mutex && name === "Buy" ? () => this.#oneOf("mutex", 1, mutex, handle) : handle;
    return workers ? this.#oneOf("workers", workers, work, inMutex, name === last) : inMutex();
  }

  /** Long-lived, and replaced piece by piece: the old generation stays full, and new garbage comes. A piece is about a quarter of 1 MB. */
  #litter(live, garbage) {
    const piece = () => Array.from({ length: 4000 }, (_, number) => ({ number }));
    while (this.#kept.length < live * 4) this.#kept.push(piece());
    for (let made = 0; made < garbage; made++) this.#kept[Math.floor(Math.random() * this.#kept.length)] = piece();
  }

  /** Computes for as long as a login of this service takes: CPU time, which others cannot shorten. */
  login() {
    const before = process.cpuUsage();
    let digest = 0;
    let used;
    do {
      for (let round = 0; round < 1000; round++) digest = (digest * 31 + round) | 0;
      used = process.cpuUsage(before);
    } while ((used.user + used.system) / 1000 < (this.#settings.cpu ?? 0));
    return digest;
  }

  #elapsed() {
    return (performance.now() - this.#first) / 1000;
  }

  async #stalled() {
    const { stall } = this.#settings;
    if (!stall || this.#elapsed() < stall.every) return;
    const into = (this.#elapsed() % stall.every) * 1000;
    if (into < stall.ms) await sleep(stall.ms - into);
  }

  async #rateLimited() {
    const { limit } = this.#settings;
    if (!limit) return;
    const now = performance.now();
    // One place every 1 / perSecond; what comes early waits for its place, or is refused beyond a burst of five.
    this.#limited = Math.max(this.#limited, now);
    const wait = this.#limited - now;
    const gap = 1000 / limit.perSecond;
    if (!limit.delay && wait > 5 * gap) throw new Refused(429);
    this.#limited += gap;
    if (limit.delay) await sleep(wait);
  }

  #fail(name) {
    const { errors } = this.#settings;
    if (!errors || (errors.request && errors.request !== name) || this.#elapsed() < (errors.from ?? 0)) return;
    if (errors.above) {
      const second = Math.floor(performance.now() / 1000);
      if (second !== this.#second.start) this.#second = { start: second, count: 0 };
      if (++this.#second.count <= errors.above) return;
      throw new Refused(503);
    }
    if (Math.random() < errors.share) throw new Refused(500);
  }

  async #warmingUp() {
    const { warmUp } = this.#settings;
    if (!warmUp) return;
    const left = 1 - this.#elapsed() / warmUp.seconds;
    if (left > 0) await sleep(warmUp.ms * left);
  }

  /** At most `places` at a time, each for `ms` longer than the handler takes; those that are `last` when nobody else waits. */
  async #oneOf(what, places, ms, handle, last) {
    const state = this.#busy.get(what) ?? { free: places, waiting: [], last: [] };
    this.#busy.set(what, state);
    if (state.free > 0) state.free--;
    else await new Promise((resolve) => (last ? state.last : state.waiting).push(resolve));
    try {
      await sleep(ms);
      return await handle();
    } finally {
      const next = state.waiting.shift() ?? state.last.shift();
      if (next) next();
      else state.free++;
    }
  }
}
