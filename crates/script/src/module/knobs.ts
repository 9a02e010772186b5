// Knobs: settings of the system that `loadstone experiment` changes. This file builds the data of `script::Knob`.
import { proxyChange } from "loadstone:proxies";
import { known, name as nameOf, nanoseconds, number, show, strict } from "loadstone:values";

const OPTIONS = ["values", "apply", "ready", "within", "settle"];
const HTTP = ["http", "method", "headers", "json", "body"];
const WHOSE = ["port", "pid", "cgroup"];

function headers(value: any, what: string): [string, string][] {
  if (value === undefined) return [];
  if (value === null || typeof value !== "object") throw new TypeError(`${what}: headers are an object of names and values, not ${show(value)}`);
  return Object.entries(value).map(([key, text]) => [key, String(text)]);
}

function http(change: any, what: string): any {
  known(change, HTTP, what);
  const lines = headers(change.headers, what);
  if (change.json !== undefined && !lines.some(([key]) => key.toLowerCase() === "content-type")) lines.push(["content-type", "application/json"]);
  const body = change.json !== undefined ? JSON.stringify(change.json) : change.body === undefined ? "" : String(change.body);
  return { http: nameOf(change.http, `${what} http`), method: change.method ?? "POST", headers: lines, body };
}

function whose(of: any, what: string): any {
  known(of, WHOSE, what);
  if (Object.keys(of).length !== 1) throw new TypeError(`${what}: name one of ${WHOSE.join(", ")}`);
  return of;
}

/** One change to the system. */
function one(change: any, what: string): any {
  if (change === null || typeof change !== "object") throw new TypeError(`${what}: ${show(change)} is not a change: write { command: "…" } or { http: "…" }`);
  if ("command" in change) {
    known(change, ["command"], what);
    return { command: nameOf(change.command, `${what} command`) };
  }
  if ("http" in change) return http(change, what);
  if ("file" in change) {
    known(change, ["file", "text"], what);
    return { file: nameOf(change.file, `${what} file`), text: String(change.text ?? "") };
  }
  if ("proxy" in change) return proxyChange(change, what);
  if ("cpus" in change) {
    known(change, ["cpus", "of"], what);
    return { cpus: change.cpus === "all" ? null : number(change.cpus, `${what} cpus`, 0.01), of: whose(change.of, `${what} of`) };
  }
  if ("paused" in change) {
    known(change, ["paused", "of"], what);
    if (typeof change.paused !== "boolean") throw new TypeError(`${what} paused: ${show(change.paused)} is not true or false`);
    return { paused: change.paused, of: whose(change.of, `${what} of`) };
  }
  throw new TypeError(`${what}: expected one of { command }, { http }, { file, text }, { proxy, … }, { cpus, of }, { paused, of }`);
}

export class Knob {
  constructor(readonly name: string, readonly values: readonly unknown[], readonly plan: any) {}
}

strict(Knob);

/** All knobs of the file, in the order of their declaration. */
export const knobs: Knob[] = [];

export function knob(name: string, options: any): Knob {
  nameOf(name, "knob(…)");
  const what = `knob "${name}"`;
  known(options, OPTIONS, what);
  const { values, apply } = options;
  if (!Array.isArray(values) || values.length < 2) throw new TypeError(`${what}: \`values\` is a list of two or more values, beginning with the present one`);
  if (typeof apply !== "function") {
    throw new TypeError(`${what}: \`apply\` is a function that returns the change for a value: (size) => ({ command: \`…\${size}…\` })`);
  }
  if (new Set(values.map(String)).size < values.length) throw new TypeError(`${what}: two of its values are the same`);
  if (knobs.some((known) => known.name === name)) throw new Error(`${what} is declared twice`);
  // Only in the realm that plans: users do not need it.
  const settings = __loadstone.declared !== undefined ? [] : values.map((value: unknown) => {
    const changes = apply(value);
    const list = Array.isArray(changes) ? changes : [changes];
    return {
      label: String(value),
      amount: typeof value === "number" && Number.isFinite(value) ? value : null,
      changes: list.map((change) => one(change, `${what} with ${show(value)}`)),
    };
  });
  const knob = new Knob(name, values, {
    name, values: settings,
    ready: options.ready === undefined ? null : nameOf(options.ready, `${what} ready`),
    within_ns: nanoseconds(options.within ?? "30s", `${what} within`),
    settle_ns: nanoseconds(options.settle ?? "0s", `${what} settle`),
  });
  knobs.push(knob);
  return knob;
}
