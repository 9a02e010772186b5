// The lines that explain differences: `ROW CLIENT ASPECT  REASON`, with two spaces before the reason. Each word may be a list with commas, and may have `*`.
// `header CLIENT NAMES  REASON` names headers that a client adds to its requests, or hides from its responses, by its nature.

import { readFileSync } from "node:fs";

export function readDifferences(path) {
  const lines = readFileSync(path, "utf8").split("\n").filter((line) => line && !line.startsWith("#"));
  return lines.map((line) => {
    const match = /^(\S+) (\S+) (\S+)  (\S.*)$/.exec(line);
    if (!match) throw new Error(`${path}: not ROW CLIENT ASPECT  REASON: ${line}`);
    const [, rows, clients, aspects, reason] = match;
    const matches = (patterns) => {
      const all = patterns.split(",").map((pattern) => new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*")}$`));
      return (name) => all.some((each) => each.test(name));
    };
    const kind = { isHeader: rows === "header", isFault: reason.startsWith("to be fixed") };
    return { line, reason, row: matches(rows), client: matches(clients), aspect: matches(aspects), used: 0, ...kind };
  });
}

/** Whether a line says that this client adds or hides this header. */
export function isHeaderOf(differences, client, name) {
  const line = differences.find((each) => each.isHeader && each.client(client) && each.aspect(name));
  if (line) line.used++;
  return Boolean(line);
}

/** The first line that explains a difference. */
export function explain(differences, row, client, aspect) {
  const line = differences.find((each) => !each.isHeader && each.row(row) && each.client(client) && each.aspect(aspect));
  if (line) line.used++;
  return line;
}
