// The functions of https://jslib.k6.io/k6-summary: the end-of-test summary as a string.

const COLORS: Record<string, string> = { bold: "1", faint: "2", red: "31", green: "32", cyan: "36" };
const SUCCEEDED = "✓";
const FAILED = "✗";
const GROUP = "█";
const DETAILS = "↳";

/** At most `digits` decimals, without trailing zeros. */
const trimmed = (value: number, digits: number): string => {
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

const TIMES: Record<string, [number, number]> = { s: [0.001, 2], ms: [1, 2], us: [1000, 2] };

const duration = (ms: number): string => {
  if (ms === 0) return "0s";
  const seconds = ms / 1000;
  if (ms < 0.001) return `${Math.trunc(ms * 1e6)}ns`;
  if (ms < 1) return `${trimmed(ms * 1000, 2)}µs`;
  if (seconds < 1) return `${trimmed(ms, 2)}ms`;
  if (seconds < 60) return `${trimmed(seconds, 2)}s`;
  const whole = Math.trunc(seconds);
  const parts = `${Math.trunc(whole / 60) % 60}m${whole % 60}s`;
  return whole >= 3600 ? `${Math.trunc(whole / 3600)}h${parts}` : parts;
};

const bytes = (count: number): string => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  if (count < 10) return `${count} B`;
  const power = Math.min(units.length - 1, Math.floor(Math.log(count) / Math.log(1000)));
  const value = Math.floor((count / 1000 ** power) * 10 + 0.5) / 10;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`;
};

/** A value of a metric in the unit that it contains. */
export function humanizeValue(value: number, metric: any, timeUnit?: string | null): string {
  // A share is shown truncated, so that 99.999 % is not shown as 100 %.
  if (metric.type === "rate") return `${(Math.trunc(value * 100 * 100) / 100).toFixed(2)}%`;
  if (metric.contains === "data") return bytes(value);
  if (metric.contains === "time") {
    const unit = timeUnit ? TIMES[timeUnit] : undefined;
    return unit ? `${(value * unit[0]).toFixed(unit[1])}${timeUnit === "us" ? "µs" : timeUnit}` : duration(value);
  }
  return trimmed(value, 6);
}

/** Terminal columns of a string; combining marks and escape sequences take none. */
const width = (text: string): number => {
  let columns = 0;
  for (const character of text.replace(/\u001b\[[0-9;]*m/g, "").normalize("NFKC")) columns += /\p{M}/u.test(character) ? 0 : 1;
  return columns;
};
const padded = (text: string, columns: number): string => text + " ".repeat(Math.max(0, columns - width(text)));

type Paint = (text: string, color: string) => string;

const checkLines = (indent: string, check: any, paint: Paint): string[] => {
  if (check.fails === 0) return [paint(`${indent}${SUCCEEDED} ${check.name}`, "green")];
  const share = Math.floor((100 * check.passes) / (check.passes + check.fails));
  const counts = `${indent} ${DETAILS}  ${share}% — ${SUCCEEDED} ${check.passes} / ${FAILED} ${check.fails}`;
  return [paint(`${indent}${FAILED} ${check.name}`, "red"), paint(counts, "red")];
};

const groupLines = (indent: string, group: any, paint: Paint): string[] => {
  const lines: string[] = [];
  if (group.name !== "") lines.push(`${indent}${GROUP} ${group.name}`, "");
  const inner = group.name === "" ? indent : `${indent}  `;
  const checks = group.checks ?? [];
  for (const check of checks) lines.push(...checkLines(inner, check, paint));
  if (checks.length > 0) lines.push("");
  for (const child of group.groups ?? []) lines.push(...groupLines(inner, child, paint));
  return lines;
};

/** The columns of a metric that is no trend. */
const columnsOf = (metric: any, timeUnit: string): string[] => {
  const { values } = metric;
  const shown = (value: number) => humanizeValue(value, metric, timeUnit);
  switch (metric.type) {
    case "counter":
      return [shown(values.count), `${shown(values.rate)}/s`];
    case "gauge":
      return [shown(values.value), `min=${shown(values.min)}`, `max=${shown(values.max)}`];
    case "rate":
      return [shown(values.rate), `${SUCCEEDED} ${values.passes}`, `${FAILED} ${values.fails}`];
    default:
      return ["[no data]"];
  }
};

const parentOf = (name: string) => (name.includes("{") ? name.slice(0, name.indexOf("{")) : name);
const titleOf = (name: string) => (name.includes("{") ? `  { ${name.slice(name.indexOf("{") + 1, -1)} }` : name);

const metricLines = (data: any, indent: string, timeUnit: string, paint: Paint): string[] => {
  const stats: string[] = data.options?.summaryTrendStats ?? ["avg", "min", "med", "max", "p(90)", "p(95)"];
  const names = Object.keys(data.metrics).sort((a, b) => {
    const [one, other] = [parentOf(a), parentOf(b)];
    return one === other ? (a < b ? -1 : 1) : one < other ? -1 : 1;
  });
  const rows = names.map((name) => {
    const metric = data.metrics[name];
    const trend = metric.type === "trend";
    const cells = trend
      ? stats.map((stat) => (stat === "count" ? String(metric.values[stat]) : humanizeValue(metric.values[stat], metric, timeUnit)))
      : columnsOf(metric, timeUnit);
    const results: any[] = Object.values(metric.thresholds ?? {});
    const mark = results.length === 0 ? " " : results.every((result) => result.ok) ? paint(SUCCEEDED, "green") : paint(FAILED, "red");
    return { title: titleOf(name), trend, cells, mark };
  });
  const titles = Math.max(0, ...rows.map(({ title }) => width(title)));
  const columns = (trend: boolean) =>
    rows.filter((row) => row.trend === trend).reduce((most: number[], { cells }) => {
      cells.forEach((cell, index) => (most[index] = Math.max(most[index] ?? 0, width(cell))));
      return most;
    }, []);
  const [widths, trendWidths] = [columns(false), columns(true)];
  return rows.map(({ title, trend, cells, mark }) => {
    const dots = paint(".".repeat(titles - width(title) + 3) + ":", "faint");
    const shown = trend
      ? cells.map((cell, index) => `${stats[index]}=${paint(padded(cell, trendWidths[index]), "cyan")}`)
      : cells.map((cell, index) => paint(padded(cell, widths[index]), index === 0 ? "cyan" : "faint"));
    return `${indent}${mark} ${title}${dots} ${shown.join(" ")}`.trimEnd();
  });
};

/** The summary of a run. Options: `indent`, `enableColors`, `summaryTimeUnit`. */
export function textSummary(data: any, options: any = {}): string {
  const colors = options.enableColors === undefined ? !data.options?.noColor && Boolean(data.state?.isStdOutTTY) : Boolean(options.enableColors);
  const paint: Paint = (text, color) => (colors ? `\u001b[${COLORS[color]}m${text}\u001b[0m` : text);
  const indent = options.indent ?? " ";
  const timeUnit = options.summaryTimeUnit ?? data.options?.summaryTimeUnit ?? "";
  const lines = groupLines(`${indent}    `, data.root_group, paint);
  return [...lines, ...metricLines(data, `${indent}  `, timeUnit, paint)].join("\n");
}

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" })[c] as string);

/** The thresholds as JUnit XML. Options: `name`, `classname`. */
export function jUnit(data: any, options: any = {}): string {
  const [name, className] = [options.name ?? "k6 thresholds", options.classname ?? "Unnamed Test"];
  const cases: string[] = [];
  let failures = 0;
  for (const [metricName, metric] of Object.entries<any>(data.metrics)) {
    for (const [expression, result] of Object.entries<any>(metric.thresholds ?? {})) {
      const head = `<testcase name="${escaped(`${metricName} - ${expression}`)}" classname="${escaped(className)}"`;
      if (!result.ok) failures++;
      cases.push(result.ok ? `${head} />` : `${head}><failure message="failed" /></testcase>`);
    }
  }
  const suite = `<testsuite name="${escaped(name)}" tests="${cases.length}" failures="${failures}">`;
  const tests = `<testsuites tests="${cases.length}" failures="${failures}">`;
  return `<?xml version="1.0"?>\n${tests}\n${suite}\n${cases.join("\n")}\n</testsuite>\n</testsuites>`;
}

export default { humanizeValue, textSummary, jUnit };
