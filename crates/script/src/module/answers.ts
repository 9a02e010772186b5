// What the stubs of all protocols have in common: options, their checks, and the list of all that a file declares.
import { known, knownIn, show } from "loadstone:values";

/** How any endpoint may behave, whatever it speaks. */
export const BEHAVIOUR = ["delay", "delaysMs", "delaysFrom", "stages", "faults", "limit"];
export const SERVER = ["listen", "name", "tls", "seed"];
const LIMIT = ["rate", "burst", "concurrent", "queue", "reject", "retryAfter"];

/** A stub of the file: what the plan says of it, and what its functions make of a request. */
interface Declared {
  plan: () => any;
  handle: (route: number, request: any) => any;
}

/** All of them, in the order of their declaration. */
export const stubs: Declared[] = [];

/** Options of a server or an endpoint, as the host reads them. */
export function behaviour(options: any, allowed: string[], what: string): any {
  if (options === null || typeof options !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(options)}`);
  known(options, allowed, what);
  const { faults, ...rest } = options;
  knownIn(rest.limit, LIMIT, `${what} limit`);
  for (const stage of listed(rest.stages)) knownIn(stage, ["until", "delay"], `${what} stages`);
  for (const fault of listed(faults)) knownIn(fault, ["share", "fault"], `${what} faults`);
  return { ...rest, ...(faults === undefined ? {} : { faults: Array.isArray(faults) ? faults : [faults] }) };
}

/** What may be one object, a list of them, or left out. Texts and numbers are left to whoever reads them. */
export function listed(value: any): any[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item) => item !== null && typeof item === "object");
}

/** The URL of the next stub: it listens there from now on. */
export function listens(options: any, what: string, example: string): string {
  if (__loadstone.declared?.sealed) throw new Error(`${what}: declare stubs at the top level of the test, outside scenarios`);
  const { listen, tls } = options;
  if (listen !== undefined && typeof listen !== "string") {
    throw new TypeError(`${what} listen: ${show(listen)} is not an address: write it as "${example}"`);
  }
  return __loadstone.stub(stubs.length, listen ?? "", tls !== undefined && tls !== false, what);
}

/** Whether something may still be added to a stub. */
export function unsealed(what: string) {
  if (__loadstone.declared?.sealed) throw new Error(`${what}: declare routes at the top level of the test, outside scenarios`);
}

/** What the function of an endpoint makes of a request; called by the host. */
__loadstone.handle = (number: number, route: number, request: any) => stubs[number]!.handle(route, request);

/** What a function returned, or will have returned, once `read` has looked at it. */
export function replied(made: any, read: (value: any) => any): any {
  return made instanceof Promise ? made.then(read) : read(made);
}
