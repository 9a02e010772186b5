// Typesets sentences of the tool: a capital first, numbers and their units on one line, `names` as code.

export interface ProsePiece {
  text: string;
  code: boolean;
}

const UNITS = "%|ns|µs|ms|s|min|h|d|B|kB|MB|GB|TB|KiB|MiB|GiB";
const NUMBER_AND_UNIT = new RegExp(`(\\d) (?=(?:${UNITS})(?![\\p{L}\\d/]))`, "gu");

/** Keeps a number and its unit, or a factor and its sign, on the same line. */
export function tied(text: string): string {
  return text.replace(NUMBER_AND_UNIT, "$1\u00a0").replace(/× (?=\d)/g, "×\u00a0");
}

/** `p99 was …` and `node:80/busy grew …` begin with a name and are unchanged. */
export function sentence(text: string): string {
  return /^[a-z]+(?=[,;:.]?(?:\s|$))/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

export function pieces(text: string): ProsePiece[] {
  return sentence(text).split("`").map((part, i) => ({ text: tied(part), code: i % 2 === 1 })).filter((piece) => piece.text !== "");
}

/** An error as a sentence: a capital first, a full stop at the end. */
export function readable(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}${/[.!?]$/.test(problem) ? "" : "."}`;
}
