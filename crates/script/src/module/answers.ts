// Common parts of the stubs of all protocols: options, their checks, and the list of all stubs of a file.
import { known, knownIn, show } from "loadstone:values";

/** Options of any endpoint, for every protocol. */
export const BEHAVIOUR = ["delay", "delaysMs", "delaysFrom", "stages", "faults", "limit"];
export const SERVER = ["listen", "name", "tls", "seed"];
const LIMIT = ["rate", "burst", "concurrent", "queue", "reject", "retryAfter"];

/** A stub of the file: its part of the plan, and its functions. */
interface Declared {
  plan: () => any;
  handle: (route: number, request: any) => any;
}

/** All of them, in the order of their declaration. */
export const stubs: Declared[] = [];

/** Options of a server or an endpoint, in the host's form. */
export function behaviour(options: any, allowed: string[], what: string): any {
  if (options === null || typeof options !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(options)}`);
  known(options, allowed, what);
  const { faults, ...rest } = options;
  knownIn(rest.limit, LIMIT, `${what} limit`);
  for (const stage of listed(rest.stages)) knownIn(stage, ["until", "delay"], `${what} stages`);
  for (const fault of listed(faults)) knownIn(fault, ["share", "fault"], `${what} faults`);
  return { ...rest, ...(faults === undefined ? {} : { faults: Array.isArray(faults) ? faults : [faults] }) };
}

/** The objects in a value that may be one object, a list of them, or absent. The reader checks strings and numbers. */
export function listed(value: any): any[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item) => item !== null && typeof item === "object");
}

/** The URL of the next stub, which listens there from now on. */
export function listens(options: any, what: string, example: string): string {
  if (__loadstone.declared?.sealed) throw new Error(`${what}: declare stubs at the top level of the test, outside scenarios`);
  const { listen, tls } = options;
  if (listen !== undefined && typeof listen !== "string") {
    throw new TypeError(`${what} listen: ${show(listen)} is not an address: write it as "${example}"`);
  }
  return __loadstone.stub(stubs.length, listen ?? "", tls !== undefined && tls !== false, what);
}

/** Throws if nothing can be added to a stub any more. */
export function unsealed(what: string) {
  if (__loadstone.declared?.sealed) throw new Error(`${what}: declare routes at the top level of the test, outside scenarios`);
}

/** Calls the function of an endpoint; called by the host. */
__loadstone.handle = (number: number, route: number, request: any) => stubs[number]!.handle(route, request);

/** The result of `read` for a function's result, or for the value of its promise. */
export function replied(result: any, read: (value: any) => any): any {
  return result instanceof Promise ? result.then(read) : read(result);
}
