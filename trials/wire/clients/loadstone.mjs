// Loadstone: a few scripts with all rows, in the style of a user's test. One virtual user runs each script in one iteration.
//
// A script posts its observations to a separate server. Rows with test options become further scripts, one per set of options.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

/** Bodies beyond this are reported as length and sum. */
export const WHOLE_BODY_MAX = 4096;
const PARALLEL = 3;

/** Runs all rows with this binary and returns `{ id: [outcome per step] }`. */
export async function runLoadstone(rows, folder, binary) {
  const outcomes = {};
  const take = (text) => {
    const { id, step, outcome } = JSON.parse(text);
    (outcomes[id] ??= [])[step] = outcome;
  };
  const reports = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      take(Buffer.concat(chunks).toString());
      response.end();
    });
  });
  await new Promise((resolve) => reports.listen(0, "127.0.0.1", resolve));
  const groups = groupBy(rows, optionsOf);
  const parts = [...groups].flatMap(([options, members]) => split(members).map((part) => ({ options, members: part })));
  const queue = parts.map((part, number) => ({ ...part, file: `wire-${number}.load.ts` }));
  const runNext = async () => {
    const next = queue.shift();
    if (!next) return;
    const { options, members, file } = next;
    writeFileSync(join(folder, file), script(members, options, reports.address().port, folder));
    const log = await run(binary, folder, file);
    for (const [, line] of log.matchAll(/@report (.*) @end/g)) take(line);
    const missing = members.filter((row) => !outcomes[row.id] || outcomes[row.id].length < row.steps.length);
    if (missing.length) throw new Error(`${missing.length} rows were not run, the first is ${missing[0].id}:\n${log.slice(-4000)}`);
    await runNext();
  };
  await Promise.all(Array.from({ length: PARALLEL }, runNext));
  reports.close();
  reports.closeAllConnections();
  return outcomes;
}

/** Large groups in as many parts as run at the same time: pauses then overlap. */
function split(members) {
  const count = members.length > 100 ? PARALLEL : 1;
  return Array.from({ length: count }, (_, part) => members.filter((_, index) => index % count === part));
}

function groupBy(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

/** Each row behind a proxy has its own proxy, so it needs a separate script. It reports by the log, because a report would pass the proxy, too. */
const optionsOf = (row) => JSON.stringify(row.options?.proxy ? { proxy: `http://${row.origins.o}` } : (row.options ?? {}));

function run(binary, folder, file) {
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: "1" };
  const options = { cwd: folder, env, maxBuffer: 1 << 26, timeout: 240_000 };
  return new Promise((resolve) => execFile(binary, ["run", "--no-save", "-q", "--allow-net", "*", file], options, (error, stdout, stderr) =>
    resolve(`${error?.code ?? ""}\n${stdout}\n${stderr}`)));
}

function script(rows, options, port, folder) {
  const files = [];
  const calls = rows.map((row) => {
    const steps = row.steps.map((step, index) => {
      const source = step.loadstone ?? literal(settings(row, step, files, folder));
      const verb = step.as ? `user.${step.as}(${literal(step.loadstoneUrl ?? step.url)}, ${source})` :
        `user.request(${literal(step.method)}, ${literal(step.loadstoneUrl ?? step.url)}, ${source})`;
      return `  await see(${literal(row.id)}, ${index}, ${row.isResponse && index === 0}, () => ${verb});`;
    });
    const pause = row.pauseMs ? `\n  await user.pause("${row.pauseMs}ms");\n` : "\n";
    return `async function row${rows.indexOf(row)}(user: User, see: See) {\n  user.cookies.clear();\n${steps.join(pause)}\n}`;
  });
  const report = JSON.parse(options).proxy ? "console.log(`@report ${JSON.stringify({ id, step, outcome })} @end`);" :
    `await user.post("http://127.0.0.1:${port}/", { name: "Report", json: { id, step, outcome }, cookies: false });`;
  return `import { file, once, scenario, test, type Response, type User } from "loadstone";
type See = (id: string, step: number, read: boolean, call: () => Promise<Response>) => Promise<void>;
${files.join("\n")}
${SEEN}
${calls.join("\n")}
const wire = scenario("Wire", async (user) => {
  const see: See = async (id, step, read, call) => {
    const outcome = await outcomeOf(read, call);
    ${report}
  };
${rows.map((_, index) => `  await row${index}(user, see);`).join("\n")}
});
export default test({ load: wire.run(once()), options: ${literal({ gracefulStop: "200s", redirects: { hosts: ["localhost"] }, ...JSON.parse(options) })} });
`;
}

function settings(row, step, files, folder) {
  const all = { name: "Row", timeout: row.hangs ? "2500ms" : "20s", redirects: step.redirects ?? 0 };
  if (step.headers.length) all.headers = Object.fromEntries(step.headers);
  if (step.query) all.query = gather(step.query);
  if (step.form) all.form = gather(step.form);
  if (step.json !== undefined) all.json = step.json;
  if (step.body !== undefined) all.body = step.body;
  if (step.trailers) all.trailers = gather(step.trailers);
  if (step.auth) all.auth = { username: step.auth[0], password: step.auth[1] };
  if (step.multipart) {
    const parts = step.multipart.map((part) => {
      if (part.filename === undefined) return [part.name, part.value];
      const path = `${row.id.replaceAll("/", "-")}-${files.length}`;
      writeFileSync(join(folder, path), part.content);
      const name = `upload${files.length}`;
      files.push(`const ${name} = file(${literal(path)}, { name: ${literal(part.filename)}, type: ${literal(part.type)} });`);
      return [part.name, new Source(name)];
    });
    all.multipart = gather(parts);
  }
  return all;
}

/** Repeated names become lists. */
function gather(pairs) {
  const all = {};
  for (const [name, value] of pairs) all[name] = name in all ? [all[name], value].flat() : value;
  return all;
}

class Source {
  constructor(text) {
    this.text = text;
  }
}

/** A value as source. Long runs of one letter are calls of `repeat`. */
function literal(value) {
  if (value instanceof Source) return value.text;
  if (value === undefined) return "undefined";
  if (value instanceof Uint8Array) {
    return value.length > 5000 ? `new Uint8Array(${value.length}).fill(${value[0]})` : `new Uint8Array([${[...value].join(",")}])`;
  }
  if (typeof value === "string") {
    const run = /^(.)\1{200,}$/su.exec(value);
    if (run) return `${JSON.stringify(run[1])}.repeat(${[...value].length})`;
    return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  }
  if (Object.is(value, -0)) return "-0";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") {
    // `"__proto__": 1` in a literal would set the prototype.
    const members = Object.entries(value).map(([name, member]) => `${name === "__proto__" ? `["__proto__"]` : JSON.stringify(name)}: ${literal(member)}`);
    return `{ ${members.join(", ")} }`;
  }
  return String(value);
}

const SEEN = `
function hex(bytes: Uint8Array): string {
  if (bytes.length <= ${WHOLE_BODY_MAX}) return Array.from(bytes, (byte) => (byte + 256).toString(16).slice(1)).join("");
  let sum = 0;
  for (let i = 0; i < bytes.length; i++) sum = (sum * 31 + bytes[i]) % 4294967296;
  return bytes.length + " bytes, sum " + sum;
}
async function outcomeOf(read: boolean, call: () => Promise<Response>): Promise<object> {
  let r: Response;
  try {
    r = await call();
  } catch (error) {
    return { error: String(error), threw: true };
  }
  if (r.status === 0 || (r.error !== undefined && r.status >= 200 && r.status < 400)) {
    return { error: r.error, status: r.status, headers: Object.entries(r.headers) };
  }
  const seen: any = { status: r.status, headers: Object.entries(r.headers), hex: hex(r.bytes), url: r.url };
  if (read && r.bytes.length < 1000) {
    seen.text = r.text;
    try {
      seen.json = JSON.parse(JSON.stringify(r.json(), (_, value) => (typeof value === "bigint" ? value + "n" : value)));
    } catch {
      seen.json = "throws";
    }
  }
  return seen;
}`;
