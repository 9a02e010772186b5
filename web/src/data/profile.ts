// CPU time by function: as the tree that a flame graph draws, and as the rows of its table.

import { digitsOf } from "../format/number";
import type { ProfiledStack, RuntimeProfile } from "../generated/report";

/** A function below those that called it. Seconds per request. */
export interface Flame {
  name: string;
  /** Its own, without what it calls; while work waited, where that is compared. */
  value: number;
  /** What of it is more than while nothing waited. */
  delta: number;
  children: Flame[];
}

/** One function, wherever it stands. Seconds per request, without what it calls. */
export interface ProfileRow {
  name: string;
  /** The function that called it where it takes most. */
  under: string;
  seconds: number;
  free: number | null;
  held: number | null;
}

export function isCompared(profile: RuntimeProfile): boolean {
  return profile.stacks.some((stack) => stack.held_seconds !== undefined);
}

const shown = (stack: ProfiledStack) => stack.held_seconds ?? stack.seconds;
const grown = (stack: ProfiledStack) => (stack.held_seconds ?? 0) - (stack.free_seconds ?? 0);

/** Digits of a time per request, of so many samples for each second of it; those of any number where these are not known. */
export function digits(seconds: number | null, samplesEach: number | undefined): number {
  return samplesEach ? digitsOf(Math.abs(seconds ?? 0) * samplesEach) : 3;
}

export function tree(profile: RuntimeProfile): Flame {
  const root: Flame = { name: profile.observer, value: 0, delta: 0, children: [] };
  for (const one of profile.stacks) {
    let place = root;
    for (const name of one.stack) {
      let next = place.children.find((child) => child.name === name);
      if (!next) {
        next = { name, value: 0, delta: 0, children: [] };
        place.children.push(next);
      }
      place = next;
    }
    place.value += shown(one);
    place.delta += grown(one);
  }
  return root;
}

/** CPU time of a request, in all functions. */
export function total(profile: RuntimeProfile): { seconds: number; free: number | null; held: number | null } {
  const sum = (of: (stack: ProfiledStack) => number) => profile.stacks.reduce((all, stack) => all + of(stack), 0);
  const compared = isCompared(profile);
  return {
    seconds: sum((stack) => stack.seconds),
    free: compared ? sum((stack) => stack.free_seconds ?? 0) : null,
    held: compared ? sum((stack) => stack.held_seconds ?? 0) : null,
  };
}

/** Those that grew most first; those that take most where a request takes no more while work waits, or nothing is compared. */
export function functions(profile: RuntimeProfile): ProfileRow[] {
  const rows = new Map<string, ProfileRow & { most: number }>();
  const compared = isCompared(profile);
  for (const one of profile.stacks) {
    const name = one.stack.at(-1) ?? "";
    const row = rows.get(name) ?? { name, under: "", seconds: 0, free: compared ? 0 : null, held: compared ? 0 : null, most: -1 };
    row.seconds += one.seconds;
    if (row.free !== null && row.held !== null) {
      row.free += one.free_seconds ?? 0;
      row.held += one.held_seconds ?? 0;
    }
    if (shown(one) > row.most) {
      row.most = shown(one);
      row.under = one.stack.at(-2) ?? "";
    }
    rows.set(name, row);
  }
  const { free, held } = total(profile);
  const grew = free !== null && held !== null && held > free;
  const weight = (row: ProfileRow) => (grew ? row.held! - row.free! : (row.held ?? row.seconds));
  return [...rows.values()].sort((a, b) => weight(b) - weight(a)).map(({ most: _, ...row }) => row);
}
