// Sentences of the tool as the page sets them: begun with a capital, numbers kept with their units, `names` set as code.

export interface Piece {
  text: string;
  code: boolean;
}

const UNITS = "%|ns|µs|ms|s|min|h|d|B|kB|MB|GB|TB|KiB|MiB|GiB";
const NUMBER_AND_UNIT = new RegExp(`(\\d) (?=(?:${UNITS})(?![\\p{L}\\d/]))`, "gu");

/** A number never stands at the end of a line with its unit on the next. */
export function tied(text: string): string {
  return text.replace(NUMBER_AND_UNIT, "$1\u00a0");
}

/** `p99 was …` begins with a name and stays as it is. */
export function sentence(text: string): string {
  return /^[a-z]+(?=[\s,;:.]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

export function pieces(text: string): Piece[] {
  return sentence(text).split("`").map((part, i) => ({ text: tied(part), code: i % 2 === 1 })).filter((piece) => piece.text !== "");
}
