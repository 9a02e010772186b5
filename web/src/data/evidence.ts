// Maps the names in a finding's evidence to columns of the charts.

/** Columns that each validity check is about, so that a finding based on the check can be shown. `*` matches any text. */
const OF_CHECK: Record<string, string[]> = {
  "offered-rate": ["rate/asked", "rate/achieved"],
  "closed-users": ["users/asked", "users/active"],
  uncertainty: ["generator_lag/*", "phases/lag"],
  "schedule-lag": ["generator_lag/p99", "phases/lag"],
  "read-lag": ["generator_lag/read_max"],
  "worker-busy": ["generator/busy/*"],
  "run-queue": ["generator/run_queue", "generator/steal"],
  throttling: ["generator/throttled", "generator/steal"],
  stalls: ["generator_lag/stall"],
  exhaustion: ["failures/ports_exhausted", "failures/descriptors_exhausted", "in_flight/connections"],
  "in-flight": ["in_flight/requests"],
  steady: ["response/p50", "response/p95"],
};

/** Whether evidence named `name` refers to this column. Signals have the names of their observer, without `signal/`. */
export function speaksOf(name: string, columnId: string): boolean {
  if (name === columnId || `signal/${name}` === columnId) return true;
  // `failures/status` refers to every request that failed with a status.
  if (name.startsWith("failures/") && columnId.startsWith(`${name}/`)) return true;
  // The charts of a request show its response times; those of evidence its service times.
  if (name === "service/p50" || name === "service/mean") return columnId === "response/p50";
  const check = name.startsWith("validity/") ? OF_CHECK[name.slice("validity/".length)] : undefined;
  const isOf = (column: string) => column === columnId || columnId.startsWith(`${column}/`);
  return check?.some((column) => (column.endsWith("*") ? columnId.startsWith(column.slice(0, -1)) : isOf(column))) ?? false;
}
