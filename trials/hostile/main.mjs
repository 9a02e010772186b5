// `cargo xtask hostile`: runs each attack of attacks.mjs against the binary, with limits on memory, time and exit code, and prints a table.
//
//   node main.mjs --loadstone BINARY [--only ROWS] [--results FILE] [--commit COMMIT]
//
// The commit is that of the binary. Default: the commit of this checkout.
//
// A row that exceeds a limit, ends by a signal or fails its check makes the command fail.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { parseArgs } from "node:util";

import { ATTACKS } from "./attacks.mjs";
import { startDns } from "./dns-server.mjs";
import { start } from "./servers.mjs";

const { values: flags } = parseArgs({ options: { loadstone: { type: "string" }, only: { type: "string" }, results: { type: "string" }, commit: { type: "string" } } });
const pattern = new RegExp(`^(${(flags.only ?? "*").replaceAll("*", ".*").replaceAll(",", "|")})$`);
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const IMPORTS = `import { arrivals, csv, iterations, observe, scenario, test, users } from "loadstone";\n`;

const rows = [];
const begun = performance.now();
for (const attack of ATTACKS.filter(({ id }) => pattern.test(id))) {
  const row = await run(attack);
  rows.push(row);
  console.log([row.problem === undefined ? "ok  " : "FAIL", row.id.padEnd(28), `exit ${row.exit}`.padEnd(14), `${row.seconds.toFixed(1)} s`.padStart(7), `${row.mib} MiB`.padStart(9), row.problem ?? ""].join("  "));
  if (row.problem !== undefined) console.log(row.out.split("\n").slice(-12).map((line) => `        ${JSON.stringify(line.slice(0, 160))}`).join("\n"));
}
const failed = rows.filter((row) => row.problem !== undefined).length;
const took = `${rows.length} attacks in ${Math.ceil((performance.now() - begun) / 60_000)} min`;
console.log(`${took}, ${failed} beyond their limits`);
if (flags.results !== undefined && flags.only === undefined) writeFileSync(flags.results, page());
process.exit(failed === 0 && rows.length > 0 ? 0 : 1);

async function run(attack) {
  const folder = mkdtempSync(join(tmpdir(), "hostile-"));
  const second = await start(attack.secondServer ?? "ok");
  const kind = typeof attack.server === "function" ? attack.server(second.port) : (attack.server ?? "ok");
  const server = await start(kind);
  const [free, bus] = [await freePort(), await freePort()];
  const dns = attack.dnsServer === undefined ? undefined : await startDns(attack.dnsServer);
  const variables = attack.environment?.({ second: second.port });
  Object.assign(attack, { folder, free, bus, sleep, variables, loadstone: resolve(flags.loadstone) });
  try {
    const ports = `const port = ${server.port}, second = ${second.port}, free = ${free};\n`;
    writeFileSync(join(folder, "a.load.ts"), IMPORTS + ports + valueOf(attack.script, dns?.port));
    attack.prepare?.(attack);
    const command = [attack.loadstone, ...(valueOf(attack.command, free, bus) ?? ["run", "a.load.ts", ...(valueOf(attack.args, bus) ?? [])])];
    const ended = await watch(attack, command);
    const files = readFiles(folder);
    const summary = JSON.parse(files.named["summary.json"] ?? "null");
    const problem = beyond(attack.limits, ended) ?? attack.check?.({ attack, out: ended.out, folder, files, summary, second, dns });
    return { id: attack.id, limits: attack.limits, exception: attack.exception, ...ended, problem };
  } finally {
    dns?.stop();
    await Promise.all([server.stop(), second.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A field of an attack, which may depend on ports. */
function valueOf(field, ...ports) {
  return typeof field === "function" ? field(...ports) : field;
}

async function watch(attack, command) {
  const line = attack.shell === undefined ? command : ["bash", "-c", attack.shell, "bash", ...command];
  const child = spawn(line[0], line.slice(1), { cwd: attack.folder, env: { ...process.env, TMPDIR: attack.folder, NO_COLOR: "1", ...attack.variables }, stdio: [attack.input === undefined ? "ignore" : "pipe", "pipe", "pipe"] });
  child.stdin?.on("error", () => {});
  if (attack.input !== undefined) Readable.from(attack.input(attack)).pipe(child.stdin);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (out = (out + text).slice(-4_000_000)));
  const began = performance.now();
  let mib = 0;
  const meter = setInterval(() => {
    mib = Math.max(mib, peakMib(child.pid));
    // Twice the limit, so that the table shows by how much it is exceeded.
    if (performance.now() - began > attack.limits.seconds * 2_000 || mib > attack.limits.mib * 4) child.kill("SIGKILL");
  }, 10);
  const exited = new Promise((end) => child.on("close", (code, signal) => end(signal ?? code)));
  await Promise.all([exited, attack.during?.(Object.assign(attack, { process: child }))]);
  clearInterval(meter);
  return { exit: await exited, seconds: (performance.now() - began) / 1_000, mib, out };
}

function beyond({ mib, seconds, exits }, ended) {
  if (typeof ended.exit === "string") return `ended by ${ended.exit}`;
  if (ended.mib > mib) return `more than ${mib} MiB`;
  if (ended.seconds > seconds) return `more than ${seconds} s`;
  return exits.includes(ended.exit) ? undefined : `exit code ${ended.exit} instead of ${exits.join(" or ")}`;
}

/** Peak resident memory of a process. */
function peakMib(pid) {
  try {
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024);
  } catch {
    return 0;
  }
}

/** All files of the folder but the test: their text, and those with a known name. */
function readFiles(folder) {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && entry.name !== "a.load.ts");
  const files = { bytes: 0, text: "", named: {} };
  for (const entry of paths) {
    const path = join(entry.parentPath, entry.name);
    files.bytes += statSync(path).size;
    const text = readFileSync(path, "utf8");
    files.text += text;
    files.named[entry.name] = text;
  }
  return files;
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

function page() {
  const commit = flags.commit ?? execFileSync("git", ["rev-parse", "--short=10", "HEAD"], { cwd: import.meta.dirname, encoding: "utf8" }).trim();
  const lines = rows.map((row) => `| ${row.id} | ${row.exit} | ${row.seconds.toFixed(1)} of ${row.limits.seconds} | ${row.mib} of ${row.limits.mib} | ${row.problem ?? ["within its limits", ...(row.exception === undefined ? [] : [row.exception])].join("; ")} |`);
  const written = `Written by \`cargo xtask hostile\` on ${new Date().toISOString().slice(0, 10)}, with a binary of commit ${commit}.`;
  const method = `Each row is an attack of \`trials/hostile\`, whose limits are next to the measured values. Memory is the peak that a reading every 10 ms saw.`;
  return `# Attacks\n\n${written}\n${method}\n\n${took}, ${failed} beyond their limits.\n\n| attack | exit | seconds | MiB | result |\n|---|---|---|---|---|\n${lines.join("\n")}\n`;
}
