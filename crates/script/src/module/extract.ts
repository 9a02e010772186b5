// `regex`, for every object with a `text`. TypeScript needs less code for it than Rust.
import { show } from "loadstone:values";

function regex(this: any, pattern: RegExp, ...fallback: unknown[]): unknown {
  if (!(pattern instanceof RegExp)) throw new TypeError(`regex(…): ${show(pattern)} is not a regular expression: write it as /…/`);
  pattern.lastIndex = 0;
  const match = pattern.exec(this.text);
  pattern.lastIndex = 0;
  if (match === null) {
    if (fallback.length > 0) return fallback[0];
    throw new Error(`${this.description()}: ${pattern} has no match in it`);
  }
  for (let index = 0; index < match.length; index++) match[index] ??= "";
  const groups = match.groups ?? {};
  for (const name of Object.keys(groups)) groups[name] ??= "";
  match.groups = groups;
  return match;
}

for (const prototype of __loadstone.extractable) {
  Object.defineProperty(prototype, "regex", { value: regex, writable: true, configurable: true });
}
