// Addresses within the history: `#/`, `#/runs/ID`, `#/runs/ID/with/ID`.

/** The run that is shown, and the one laid over it. `null` for both: the list of tests and runs. */
export interface RunAddress {
  run: string | null;
  other: string | null;
}

export function addressFrom(hash: string): RunAddress {
  const [, run, other] = /^#\/runs\/([^/]+)(?:\/with\/([^/]+))?$/.exec(hash) ?? [];
  return { run: run ? decodeURIComponent(run) : null, other: other ? decodeURIComponent(other) : null };
}

export function hashOf(run: string, other: string | null = null): string {
  return `#/runs/${encodeURIComponent(run)}${other ? `/with/${encodeURIComponent(other)}` : ""}`;
}
