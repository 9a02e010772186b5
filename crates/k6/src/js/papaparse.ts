// The functions `parse` and `unparse` of Papa Parse (https://jslib.k6.io/papaparse) for strings.

const DELIMITERS = [",", "\t", "|", ";", "\u001e", "\u001f"];
const FLOAT = /^\s*-?(\d+\.?|\.\d+|\d+\.\d+)([eE][-+]?\d+)?\s*$/;
const DATE = /^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?([+-][0-2]\d:[0-5]\d|Z)$/;

type Problem = { type: string; code: string; message: string; row?: number; index?: number };

/** Rows of fields, as RFC 4180 defines them. */
function rowsOf(text: string, delimiter: string, newline: string, quote: string, escape: string, comments: string | false, most: number) {
  const rows: string[][] = [];
  const errors: Problem[] = [];
  let [row, at]: [string[], number] = [[], 0];
  let truncated = false;
  const end = () => {
    rows.push(row);
    row = [];
    truncated = most > 0 && rows.length >= most;
  };
  while (at <= text.length && !truncated) {
    if (comments && row.length === 0 && text.startsWith(comments, at)) {
      const next = text.indexOf(newline, at);
      if (next < 0) break;
      at = next + newline.length;
      continue;
    }
    let field: string;
    if (quote && text[at] === quote) {
      const start = at;
      field = "";
      at++;
      for (;;) {
        const close = text.indexOf(quote, at);
        if (close < 0) {
          errors.push({ type: "Quotes", code: "MissingQuotes", message: "Quoted field unterminated", row: rows.length, index: start });
          field += text.slice(at);
          at = text.length;
          break;
        }
        if (escape === quote && text[close + 1] === quote) {
          field += text.slice(at, close + 1);
          at = close + 2;
          continue;
        }
        if (escape !== quote && close > at && text[close - 1] === escape) {
          field += text.slice(at, close - 1) + quote;
          at = close + 1;
          continue;
        }
        const after = close + 1;
        const ends = after === text.length || text.startsWith(delimiter, after) || text.startsWith(newline, after);
        field += text.slice(at, close);
        at = after;
        if (ends) break;
        errors.push({ type: "Quotes", code: "InvalidQuotes", message: "Trailing quote on quoted field is malformed", row: rows.length, index: start });
        field += quote;
      }
    } else {
      const [comma, line] = [text.indexOf(delimiter, at), text.indexOf(newline, at)];
      const stop = Math.min(comma < 0 ? text.length : comma, line < 0 ? text.length : line);
      field = text.slice(at, stop);
      at = stop;
    }
    row.push(field);
    if (at >= text.length) {
      end();
      break;
    }
    if (text.startsWith(delimiter, at)) at += delimiter.length;
    else {
      end();
      at += newline.length;
    }
  }
  return { rows, errors, truncated };
}

const newlineOf = (text: string): string => {
  const start = text.slice(0, 1024 * 1024);
  const returns = start.split("\r");
  const feeds = start.split("\n");
  if (returns.length === 1 || (feeds.length > 1 && feeds[0].length < returns[0].length)) return "\n";
  return returns.slice(1).filter((line) => line[0] === "\n").length >= returns.length / 2 ? "\r\n" : "\r";
};

/** The delimiter whose first rows have the same number of fields, more than one. */
const guessed = (text: string, newline: string, quote: string, comments: string | false): string | undefined => {
  let best: { delimiter: string; fields: number; change: number } | undefined;
  for (const delimiter of DELIMITERS) {
    const rows = rowsOf(text, delimiter, newline, quote, quote, comments, 10).rows.filter((row) => !(row.length === 1 && row[0] === ""));
    if (rows.length === 0) continue;
    const fields = rows.reduce((sum, row) => sum + row.length, 0) / rows.length;
    const change = rows.slice(1).reduce((sum, row, index) => sum + Math.abs(row.length - rows[index].length), 0);
    if (fields > 1.99 && (!best || change < best.change || (change === best.change && fields > best.fields))) best = { delimiter, fields, change };
  }
  return best?.delimiter;
};

const typed = (value: string): any => {
  if (value === "true" || value === "TRUE") return true;
  if (value === "false" || value === "FALSE") return false;
  if (FLOAT.test(value) && Math.abs(Number(value)) < 2 ** 53) return Number.parseFloat(value);
  if (DATE.test(value)) return new Date(value);
  return value === "" ? null : value;
};

const applies = (option: any, field: string | number): boolean =>
  typeof option === "function" ? Boolean(option(field)) : typeof option === "object" && option !== null ? Boolean(option[field]) : Boolean(option);

export function parse(input: any, config: any = {}): any {
  if (typeof input !== "string") throw new Error("Loadstone's papaparse parses strings: read the file with open()");
  if (config.worker || config.download) throw new Error("Loadstone's papaparse has no workers and downloads nothing");
  const text = input.replace(/^\ufeff/, "");
  const quote = config.quoteChar === undefined ? '"' : (config.quoteChar ?? "");
  const escape = config.escapeChar ?? quote;
  const comments = config.comments === true ? "#" : typeof config.comments === "string" ? config.comments : false;
  const newline = config.newline ?? newlineOf(text);
  const errors: Problem[] = [];
  let delimiter = typeof config.delimiter === "function" ? config.delimiter(text) : config.delimiter;
  if (!delimiter) {
    delimiter = guessed(text, newline, quote, comments);
    if (!delimiter && text !== "") {
      errors.push({ type: "Delimiter", code: "UndetectableDelimiter", message: "Unable to auto-detect delimiting character; defaulted to ','" });
    }
    delimiter ??= ",";
  }
  const preview = config.preview ? Number(config.preview) + (config.header ? 1 : 0) : 0;
  const parsed = text === "" ? { rows: [], errors: [], truncated: false } : rowsOf(text, delimiter, newline, quote, escape, comments, preview);
  errors.push(...parsed.errors);
  let rows = parsed.rows;
  const empty = (row: string[]) =>
    config.skipEmptyLines === "greedy" ? row.join("").trim() === "" : row.length === 1 && row[0].length === 0;
  if (config.skipEmptyLines) rows = rows.filter((row) => !empty(row));
  const meta: any = { delimiter, linebreak: newline, aborted: false, truncated: parsed.truncated, cursor: text.length };
  let fields: string[] | undefined;
  if (config.header) {
    const seen = new Map<string, number>();
    fields = (rows.shift() ?? []).map((name, index) => {
      const title = config.transformHeader ? config.transformHeader(name, index) : name;
      const count = seen.get(title) ?? 0;
      seen.set(title, count + 1);
      return count === 0 ? title : `${title}_${count}`;
    });
    meta.fields = fields;
  }
  const valueOf = (raw: string, name: string | number) => {
    const value = config.transform ? config.transform(raw, name) : raw;
    return typeof value === "string" && applies(config.dynamicTyping, name) ? typed(value) : value;
  };
  const data = rows.map((row, index) => {
    if (!fields) return row.map((value, column) => valueOf(value, column));
    const object: any = {};
    row.forEach((raw, column) => {
      if (column < fields.length) object[fields[column]] = valueOf(raw, fields[column]);
      else (object.__parsed_extra ??= []).push(valueOf(raw, "__parsed_extra"));
    });
    if (row.length !== fields.length) {
      const many = row.length > fields.length;
      const code = many ? "TooManyFields" : "TooFewFields";
      const message = `Too ${many ? "many" : "few"} fields: expected ${fields.length} fields but parsed ${row.length}`;
      errors.push({ type: "FieldMismatch", code, message, row: index });
    }
    return object;
  });
  const result = { data, errors, meta };
  if (typeof config.step === "function") {
    const handle = { abort: () => (meta.aborted = true), pause: () => {}, resume: () => {} };
    for (const one of data) {
      if (meta.aborted) break;
      config.step({ data: one, errors: [], meta }, handle);
    }
  }
  if (typeof config.complete === "function") config.complete(result);
  return result;
}

export function unparse(input: any, config: any = {}): string {
  const { delimiter = ",", newline = "\r\n", quoteChar = '"', header = true, quotes = false } = config;
  const escape = config.escapeChar ?? quoteChar;
  let source = typeof input === "string" ? JSON.parse(input) : input;
  let fields: string[] | undefined = config.columns ?? undefined;
  if (!Array.isArray(source)) {
    fields ??= source.fields;
    source = source.data ?? [];
  }
  if (source.length > 0 && !Array.isArray(source[0])) fields ??= Object.keys(source[0]);
  const shown = (value: any, column: number, name: any): string => {
    if (value === undefined || value === null) return "";
    const text = value instanceof Date ? value.toISOString() : String(value);
    const wanted = typeof quotes === "function" ? quotes(value, column) : Array.isArray(quotes) ? quotes[column] : quotes;
    const special = [delimiter, quoteChar, "\r", "\n", "\ufeff"].some((part) => text.includes(part)) || text.startsWith(" ") || text.endsWith(" ");
    void name;
    return wanted || special ? quoteChar + text.replaceAll(quoteChar, escape + quoteChar) + quoteChar : text;
  };
  const lines: string[] = [];
  if (header && fields && fields.length > 0) lines.push(fields.map((name, column) => shown(name, column, name)).join(delimiter));
  for (const row of source) {
    const values: any[] = Array.isArray(row) ? row : (fields ?? Object.keys(row)).map((name) => row[name]);
    const blank = config.skipEmptyLines === "greedy" ? values.join("").trim() === "" : values.length === 1 && String(values[0] ?? "") === "";
    if (config.skipEmptyLines && blank) continue;
    lines.push(values.map((value, column) => shown(value, column, fields?.[column])).join(delimiter));
  }
  return lines.join(newline);
}

export default { parse, unparse };
