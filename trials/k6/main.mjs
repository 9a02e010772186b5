// Runs small scripts in k6 and in Loadstone against one recording server, and compares requests, printed values, exit codes and counts.
// node trials/k6/main.mjs --loadstone BINARY [--k6 BINARY] [--only TEXT] [--results FILE]
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CASES, EXPLAINED } from "./cases.mjs";
import { MEMBER_CASES } from "./member-cases.mjs";
import { start } from "./server.mjs";

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const k6 = option("k6", "k6");
const loadstone = option("loadstone");
const only = option("only");
const folder = mkdtempSync(join(tmpdir(), "k6-conformance-"));

const PRELUDE = `import http from "k6/http"; import { check, group, sleep, fail, randomSeed } from "k6"; import exec from "k6/execution";
import encoding from "k6/encoding"; import crypto from "k6/crypto"; import { parseHTML } from "k6/html"; import { SharedArray } from "k6/data";
import { Counter, Gauge, Rate, Trend } from "k6/metrics";
const B = __ENV.B;
const plain = (value) => value && typeof value === "object" && !Array.isArray(value) && !(value instanceof ArrayBuffer);
const sorted = (_, value) => (plain(value) ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, value[key]])) : value);
const row = (...values) => console.log("row " + JSON.stringify(values.map((value) => (value === undefined ? "undefined" : value)), sorted));
const thrown = (call) => { try { call(); return "no error"; } catch (error) { return "error"; } };
`;

function run(command, args, env) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: folder, env: { ...process.env, ...env }, timeout: 60_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? "killed") : 0, output: `${stdout}\n${stderr}` });
    });
  });
}

const rows = (output) => output.split("\n").flatMap((line) => (line.includes("row [") ? [line.slice(line.indexOf("row [") + 4).trimEnd()] : []));

/** Counts that both summaries must share. Times differ, and so do the sizes of requests, which contain the tools' names. */
function counts(file) {
  let summary;
  try {
    summary = JSON.parse(readFileSync(join(folder, file), "utf8"));
  } catch {
    return ["no summary"];
  }
  const listed = [];
  for (const [name, values] of Object.entries(summary.metrics)) {
    if (/^(vus|vus_max|data_sent|data_received)$/.test(name)) continue;
    const numbers = ["count", "passes", "fails", "value"].filter((key) => key in values && !("avg" in values)).map((key) => `${key}=${values[key]}`);
    listed.push(`${name} ${numbers.join(" ")} ${JSON.stringify(Object.entries(values.thresholds ?? {}).sort())}`);
  }
  const checks = (group) => [
    ...Object.values(group.checks).map((check) => `${check.path} ${check.passes}/${check.fails}`),
    ...Object.values(group.groups).flatMap((inner) => [`group ${inner.path}`, ...checks(inner)]),
  ];
  return [...listed.sort(), ...checks(summary.root_group).sort()];
}

async function observed(tool, script, server, more = []) {
  const args = ["run", script, "-e", `B=${server.url}`, "--quiet", "--summary-export", `${tool}.json`, ...more];
  const ended =
    tool === "k6"
      ? await run(k6, [...args, "--log-format", "raw", "--no-usage-report"], {})
      : await run(loadstone, [...args, "--k6-exit-codes", "--no-save", "--workers", "1"], {});
  const seen = { requests: server.take(), printed: rows(ended.output), code: [String(ended.code)], counts: counts(`${tool}.json`) };
  rmSync(join(folder, `${tool}.json`), { force: true });
  return { seen: JSON.parse(JSON.stringify(seen).replaceAll(server.url, "SERVER").replaceAll(server.url.slice(7), "HOST")), output: ended.output };
}

const version = (await run(k6, ["version"], {})).output.trim().split(" (")[0];
const server = await start();
const results = [];
for (const { member, top = "", code, file, args, async: isAsync, sorted } of [...CASES, ...MEMBER_CASES]) {
  if (only && !member.includes(only)) continue;
  const script = `${PRELUDE}${top}\nexport default ${isAsync ? "async " : ""}function (data) {\n${code}\n}\n`;
  writeFileSync(join(folder, "script.js"), script);
  for (const [name, text] of Object.entries(file ?? {})) writeFileSync(join(folder, name), text);
  const [of_k6, of_loadstone] = [await observed("k6", "script.js", server, args), await observed("loadstone", "script.js", server, args)];
  if (sorted) for (const { seen } of [of_k6, of_loadstone]) seen.requests.sort();
  const aspects = Object.keys(of_k6.seen).filter((aspect) => JSON.stringify(of_k6.seen[aspect]) !== JSON.stringify(of_loadstone.seen[aspect]));
  const known = EXPLAINED[member];
  const explained = aspects.every((aspect) => known?.aspects.includes(aspect)) ? known?.reason : undefined;
  results.push({ member, aspects, explained });
  console.log(`${aspects.length === 0 ? "same     " : explained ? "explained" : "DIFFERENT"} ${member} ${aspects.join(", ")}`);
  if (aspects.length > 0 && (only || !explained)) {
    for (const aspect of aspects) {
      console.log(`  k6        ${aspect}: ${JSON.stringify(of_k6.seen[aspect])}\n  loadstone ${aspect}: ${JSON.stringify(of_loadstone.seen[aspect])}`);
    }
    if (only) console.log(of_loadstone.output.slice(0, 3000));
  }
}
server.stop();
rmSync(folder, { recursive: true });

const same = results.filter(({ aspects }) => aspects.length === 0).length;
const unexplained = results.filter(({ aspects, explained }) => aspects.length > 0 && !explained);
console.log(`${same} of ${results.length} scripts behave alike; ${unexplained.length} differ without an explanation`);
const table = option("results");
if (table && !only) {
  const shown = results.map(({ member, aspects, explained }) => {
    const state = aspects.length === 0 ? "same" : `differs: ${aspects.join(", ")}`;
    return `| \`${member.replaceAll("|", "\\|")}\` | ${state} | ${aspects.length === 0 ? "" : (explained ?? "**not explained**")} |`;
  });
  writeFileSync(
    table,
    `# Conformance with k6\n\n` +
      `\`cargo xtask k6-conformance\` runs each script once in ${version} and once in Loadstone, against one server that records requests. It compares\n` +
      `requests (method, target, headers, body), printed values, the exit code, and the counts, checks and thresholds of \`--summary-export\`.\n\n` +
      `**${same} of ${results.length}** scripts behave alike. ${unexplained.length} differ without an explanation.\n\n` +
      `| script | result | explanation |\n|---|---|---|\n${shown.join("\n")}\n`,
  );
}
process.exitCode = unexplained.length > 0 ? 1 : 0;
