// `user.pace(…)`.
import { nanoseconds, number, known, whole } from "loadstone:values";

function interval(options: any): number {
  known(options, ["perSecond", "perMinute", "every", "times", "for"], "pace(…)");
  if (options.perSecond !== undefined) return 1e9 / number(options.perSecond, "pace({ perSecond })", Number.MIN_VALUE);
  if (options.perMinute !== undefined) return 60e9 / number(options.perMinute, "pace({ perMinute })", Number.MIN_VALUE);
  if (options.every !== undefined) return nanoseconds(options.every, "pace({ every })");
  throw new TypeError("pace(…): set `perSecond`, `perMinute` or `every`");
}

/** The result of `pace`: a custom iterator, since a suspended generator would need half a kilobyte more for every waiting user. */
class Pace {
  turn = 0;
  constructor(readonly user: any, readonly begun: number, readonly every: number, public times: number, readonly end: number) {}
  next() {
    const turn = this.turn++;
    const due = this.begun + turn * this.every;
    if (turn >= this.times || due >= this.end) return this.return();
    const loadEnd = this.user.loadEnd();
    // A user that ended now would begin an iteration of less than one turn, again and again until the load ends.
    if (due >= loadEnd) return this.user.sleepUntil(loadEnd, this.return());
    const result = { value: turn, done: false };
    return turn === 0 ? result : this.user.sleepUntil(due, result);
  }
  return() {
    this.times = 0;
    return { value: undefined, done: true };
  }
  [Symbol.asyncIterator]() {
    return this;
  }
}

function pace(this: any, options: any) {
  const every = interval(options);
  const times = options.times === undefined ? Infinity : whole(options.times, "pace({ times })");
  const begun = this.clock();
  const end = options.for === undefined ? Infinity : begun + nanoseconds(options.for, "pace({ for })");
  return new Pace(this, begun, every, times, end);
}

Object.defineProperty(__loadstone.userPrototype, "pace", { value: pace, writable: true, configurable: true });
