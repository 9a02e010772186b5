// Feeders, shared values, random draws, templates and files: the objects that scripts use. Positions, values and files are in Rust. Rows
// created by functions, and lists written in a script, never leave their realm.
import { known, name as nameOf, show, strict } from "loadstone:values";

const native = __loadstone.data;

class Feeder {
  #tickets: any;
  #row: (number: number) => unknown;

  constructor(tickets: any, row: (number: number) => unknown) {
    this.#tickets = tickets;
    this.#row = row;
  }

  next() {
    return this.#row(this.#tickets.take());
  }

  get remaining(): number {
    return this.#tickets.remaining;
  }
}

class Source {
  readonly length: number;
  #path: string;
  #row: (number: number) => unknown;

  constructor(length: number, path: string, row: (number: number) => unknown) {
    this.length = length;
    this.#path = path;
    this.#row = row;
  }

  #feeder(strategy: string) {
    return new Feeder(native.feeder(strategy, this.length, this.#path), this.#row);
  }

  circular() {
    return this.#feeder("circular");
  }

  random() {
    return this.#feeder("random");
  }

  shuffle() {
    return this.#feeder("shuffle");
  }

  queue() {
    return this.#feeder("queue");
  }
}

function source(rows: any) {
  return new Source(rows.length, rows.path, (number) => rows.row(number));
}

export function csv(path: string, options: any = {}) {
  known(options, ["separator", "columns"], "csv(…)");
  return source(native.open("csv", nameOf(path, "csv(path)"), options.separator ?? ",", options.columns));
}

export function json(path: string, at?: string) {
  const name = nameOf(path, "json(path)");
  return source(at === undefined ? native.open("json", name) : native.open("json", name, nameOf(at, `json("${name}", path)`)));
}

export function jsonl(path: string) {
  return source(native.open("jsonl", nameOf(path, "jsonl(path)")));
}

export function rows(list: readonly unknown[]) {
  if (!Array.isArray(list) || list.length === 0) throw new TypeError(`rows(…): expected a list with at least one row, got ${show(list)}`);
  const own = [...list];
  return new Source(own.length, "", (number) => own[number]);
}

export function generator(make: (n: number) => unknown) {
  if (typeof make !== "function") throw new TypeError(`generator(…): expected a function that returns a row, got ${show(make)}`);
  return new Feeder(native.feeder("generator", 0, ""), make);
}

/** A field of a CSV file, as RFC 4180 quotes it. */
function field(value: unknown, what: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object" || typeof value === "function") {
    throw new TypeError(`${what} is ${show(value)}: a CSV file holds strings, numbers, true and false; collect into a .jsonl file instead`);
  }
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

class Collection {
  #path: string;
  #lines: any;

  constructor(path: string) {
    if (!/\.(csv|jsonl)$/.test(path)) throw new TypeError(`collect("${path}"): the file's name must end in .csv or .jsonl`);
    this.#path = path;
    this.#lines = native.collection(path);
  }

  add(row: any) {
    const what = `collect("${this.#path}").add(row)`;
    if (row === null || typeof row !== "object" || Array.isArray(row)) throw new TypeError(`${what}: a row is an object, not ${show(row)}`);
    if (this.#path.endsWith(".jsonl")) return this.#lines.add("", JSON.stringify(row));
    const names = Object.keys(row);
    if (names.length === 0) throw new TypeError(`${what}: a row needs at least one column`);
    const header = names.map((name) => field(name, what)).join(",");
    this.#lines.add(header, names.map((name) => field(row[name], `${what}: ${name}`)).join(","));
  }
}

export function collect(path: string) {
  return new Collection(nameOf(path, "collect(path)"));
}

/** A value as JSON, or an error that names the shared value. */
function text(value: unknown, name: string): string {
  const json = JSON.stringify(value);
  if (json === undefined) throw new TypeError(`shared "${name}": ${show(value)} cannot be expressed as JSON`);
  return json;
}

class Shared {
  #name: string;
  #value: any;
  #version = -1;
  #copy: unknown;

  constructor(name: string, initial: unknown) {
    this.#name = name;
    this.#value = native.shared(name, text(initial, name));
  }

  get() {
    if (this.#value.version !== this.#version) {
      const [version, json] = this.#value.read();
      this.#copy = JSON.parse(json);
      this.#version = version;
    }
    return this.#copy;
  }

  set(value: unknown) {
    this.#value.set(text(value, this.#name));
  }

  update(change: (value: any) => unknown) {
    for (;;) {
      const [version, json] = this.#value.read();
      const next = change(JSON.parse(json));
      if (this.#value.replaceIf(version, text(next, this.#name))) return next;
    }
  }

  increment(by: number = 1): number {
    if (!Number.isFinite(by)) throw new TypeError(`shared "${this.#name}": increment(by) needs a number, not ${show(by)}`);
    return this.#value.increment(by);
  }

  push(...items: unknown[]): number {
    return this.#value.push(items.map((item) => text(item, this.#name)));
  }

  shift() {
    const json = this.#value.shift();
    return json === undefined ? undefined : JSON.parse(json);
  }
}

strict(Feeder, Source, Collection, Shared);

export function shared(name: string, initial: unknown) {
  return new Shared(nameOf(name, "shared(name)"), initial);
}

export const template = Object.assign(native.template, { text: native.templateText });
export const { random, uniqueId, file } = native;

/** The result of `proto`: the calls that the files declare. */
export function proto(path: string, options: any = {}) {
  known(options, ["imports"], "proto(…)");
  return Object.freeze({ methods: Object.freeze(native.proto(nameOf(path, "proto(path)"), options)) });
}
