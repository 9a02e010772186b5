// Searches the history, and selects the values that a form sends.

import type { RunRow } from "../generated/report";
import type { ParameterField } from "../generated/ui";

/** Every word must occur in the run's test, id, note, state, grade, branch, commit or tags. A word with a leading `#` must be one of its tags. */
export function search(runs: readonly RunRow[], text: string): RunRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    const tags = run.tags.map((tag) => tag.toLowerCase());
    const known = [run.test, run.id, run.note, run.state, run.validity, run.branch, run.commit, ...tags];
    const prose = known.map((part) => part ?? "").join(" ").toLowerCase();
    return words.every((word) => (word.startsWith("#") ? tags.includes(word.slice(1)) : prose.includes(word)));
  });
}

export function tagsOf(runs: readonly RunRow[]): string[] {
  return [...new Set(runs.flatMap((run) => run.tags))].toSorted((a, b) => a.localeCompare(b, "en"));
}

/** Parameters whose values differ between the listed runs: columns of the list. Only the first few fit. */
export function differingParameters(runs: readonly RunRow[], most = 3): string[] {
  const values = new Map<string, Set<string>>();
  for (const [name, value] of runs.flatMap((run) => run.parameters ?? [])) values.set(name, (values.get(name) ?? new Set()).add(value));
  return [...values].filter(([, seen]) => seen.size > 1).map(([name]) => name).slice(0, most);
}

/** The last finished run of the same test that started before this one. */
export function previousOf(run: RunRow, others: readonly RunRow[]): RunRow | null {
  const began = (one: RunRow) => Date.parse(one.started);
  const earlier = others.filter((one) => one.test === run.test && one.state !== "running" && began(one) < began(run));
  return earlier.reduce<RunRow | null>((last, one) => (last === null || began(one) > began(last) ? one : last), null);
}

/** `main 39dbcdc`, with a star if the sources differed from the commit. */
export const sourceOf = (run: Pick<RunRow, "branch" | "commit" | "dirty">): string =>
  [run.branch ?? "", run.commit ? run.commit.slice(0, 7) + (run.dirty ? "*" : "") : ""].filter(Boolean).join(" ");

/** Names of the parameters that need a value but have none. */
export function missing(parameters: readonly ParameterField[], values: Readonly<Record<string, string>>): string[] {
  const isEmpty = ({ name, default: usual, secret }: ParameterField) => (values[name] ?? "") === "" && (usual === null || (usual !== "" && !secret));
  return parameters.filter(isEmpty).map(({ name }) => name);
}

/** The values to send: only those that differ from the default, so that the run's record contains what was chosen. */
export function chosen(parameters: readonly ParameterField[], values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    parameters.flatMap(({ name, default: usual, secret }) => {
      const value = values[name] ?? "";
      return value === (secret ? "" : (usual ?? "")) ? [] : [[name, value]];
    }),
  );
}
