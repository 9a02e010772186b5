// CPU time by function: as the tree of a flame graph, and as the rows of its table.

import { digitsOf } from "../format/number";
import type { ProfiledStack, RuntimeProfile } from "../generated/summary";

/** A function below its callers. Seconds per request. */
export interface Flame {
  name: string;
  /** Its own time, without callees. If the profile is compared, the time while work waited. */
  value: number;
  /** The increase compared with the time while nothing waited. */
  delta: number;
  children: Flame[];
}

/** One function, over all of its positions. Seconds per request, without callees. */
export interface ProfileRow {
  name: string;
  /** The caller under which it takes the most time. */
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

/** Significant digits of a time per request, from the number of samples per second of it; 3 if that number is unknown. */
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

/** Functions that grew most are first. If a request takes no more while work waits, or nothing is compared, those that take most are first. */
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
