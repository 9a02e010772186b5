// The module "k6/experimental/csv".
import { File } from "k6/experimental/fs";

/** The rows of a text (RFC 4180). */
function* rowsOf(text: string, delimiter: string): Generator<string[]> {
  let [row, field, quoted, at]: [string[], string, boolean, number] = [[], "", false, text.charCodeAt(0) === 0xfeff ? 1 : 0];
  let any = false;
  for (; at < text.length; at++) {
    const c = text[at];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[at + 1] === '"') field += text[++at];
      else quoted = false;
    } else if (c === '"' && field === "") {
      quoted = any = true;
    } else if (c === delimiter) {
      row.push(field);
      field = "";
      any = true;
    } else if (c === "\n" || (c === "\r" && text[at + 1] === "\n")) {
      if (c === "\r") at++;
      // As in k6, an empty line is no row.
      if (any || field !== "") yield [...row, field];
      [row, field, any] = [[], "", false];
    } else field += c;
  }
  if (quoted) throw new Error("the CSV file ends inside a quoted field");
  if (any || field !== "") yield [...row, field];
}

const KNOWN = ["delimiter", "skipFirstLine", "fromLine", "toLine", "asObjects"];

function* selected(file: File, options: any = {}): Generator<any> {
  const unknown = Object.keys(options ?? {}).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw new Error(`Loadstone does not support the option \`${unknown}\` of k6/experimental/csv: see docs/k6-compatibility.md`);
  const { delimiter = ",", skipFirstLine = false, fromLine = 0, toLine, asObjects = false } = options ?? {};
  let [line, header]: [number, string[] | undefined] = [0, undefined];
  for (const row of rowsOf(file.__rest, String(delimiter))) {
    const number = line++;
    if (toLine !== undefined && number > toLine) return;
    if (asObjects && header === undefined) {
      header = row;
      continue;
    }
    if ((skipFirstLine && number === 0) || number < fromLine) continue;
    yield header ? Object.fromEntries(header.map((name, index) => [name, row[index]])) : row;
  }
}

const checked = (file: any): File => {
  if (!(file instanceof File)) throw new TypeError("k6/experimental/csv expects a file of k6/experimental/fs: await open(path)");
  return file;
};

/** All rows. They cannot be changed. */
export async function parse(file: File, options?: any): Promise<any[]> {
  return Object.freeze([...selected(checked(file), options)].map((row) => Object.freeze(row))) as any[];
}

/** Rows one by one. */
export class Parser {
  #rows: Generator<any>;

  constructor(file: File, options?: any) {
    this.#rows = selected(checked(file), options);
  }

  async next(): Promise<{ done: boolean; value: any }> {
    const { done, value } = this.#rows.next();
    return done ? { done: true, value: [] } : { done: false, value };
  }
}

export default { parse, Parser };
