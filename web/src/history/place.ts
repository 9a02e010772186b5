// Addresses within the history: `#/`, `#/runs/ID`, `#/runs/ID/with/ID`.

export interface Place {
  run: string | null;
  other: string | null;
}

export function placeOf(hash: string): Place {
  const [, run, other] = /^#\/runs\/([^/]+)(?:\/with\/([^/]+))?$/.exec(hash) ?? [];
  return { run: run ? decodeURIComponent(run) : null, other: other ? decodeURIComponent(other) : null };
}

export function addressOf(run: string, other: string | null = null): string {
  return `#/runs/${encodeURIComponent(run)}${other ? `/with/${encodeURIComponent(other)}` : ""}`;
}
