// `cargo xtask wire`: sends the tables of requests and responses through Loadstone, curl, Node and Go, and compares what arrived and what was seen.
//
//   node main.mjs --loadstone BINARY              all clients; writes recorded.jsonl, and the results to --results FILE if there is one
//   node main.mjs --loadstone BINARY --recorded   Loadstone alone, against what the others did when recorded.jsonl was written
//   --only ROWS (with *)                          some rows, nothing is written; --show prints every difference, explained ones too
//
// A difference without a line in differences.txt is an error, and so is a line that explains nothing.

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { defaultsOf, differingAspects, ofRequests, ofResponses } from "./aspects.mjs";
import { runCurl } from "./clients/curl.mjs";
import { runLoadstone } from "./clients/loadstone.mjs";
import { explain, isHeaderOf, readDifferences } from "./differences.mjs";
import { REQUESTS } from "./requests.mjs";
import { RESPONSES } from "./responses.mjs";
import { resultsPage } from "./results.mjs";
import { CLOSE, RESET, Recording } from "./server.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PEERS = ["curl", "node", "go"];
const { values: flags } = parseArgs({
  options: { loadstone: { type: "string" }, recorded: { type: "boolean" }, only: { type: "string" }, show: { type: "boolean" }, results: { type: "string" } },
});

const pattern = new RegExp(`^(${(flags.only ?? "*").replaceAll("*", ".*").replaceAll(",", "|")}|defaults/get|defaults/get-by-fetch)$`);
const ROWS = [...REQUESTS, ...RESPONSES].filter((row) => pattern.test(row.id));
const folder = mkdtempSync(join(tmpdir(), "wire-"));
const began = Date.now();
try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main() {
  // A client that is not installed ends the trial before it begins.
  const clients = flags.recorded ? [] : versions();
  const seen = { loadstone: await observe("loadstone", (rows) => runLoadstone(rows, folder, resolve(flags.loadstone))) };
  if (flags.recorded) {
    for (const line of readFileSync(join(HERE, "recorded.jsonl"), "utf8").trim().split("\n")) {
      const { id, ...peers } = JSON.parse(line);
      for (const [peer, aspects] of Object.entries(peers)) (seen[peer] ??= {})[id] = aspects;
    }
  } else {
    const [curl, node, go] = await Promise.all([
      observe("curl", (rows) => runCurl(rows, folder)),
      observe("node", (rows) => runWithFile("node", [join(HERE, "clients/node.mjs")], rows)),
      observe("go", (rows) => runWithFile("go", ["run", join(HERE, "clients/client.go")], rows)),
    ]);
    Object.assign(seen, { curl, node, go });
  }
  const differences = readDifferences(join(HERE, "differences.txt"));
  const counts = compare(seen, differences);
  if (flags.only) return counts.unexplained === 0;
  const idle = differences.filter((each) => !each.used);
  for (const each of idle) console.log(`explains nothing: ${each.line}`);
  console.log(`${ROWS.length} rows, ${counts.compared} comparisons, ${counts.explained} explained differences (${counts.faults} to be fixed), ` +
    `${counts.unexplained} unexplained, ${((Date.now() - began) / 1000).toFixed(1)} s`);
  if (!flags.recorded) {
    writeFileSync(join(HERE, "recorded.jsonl"), `${ROWS.map((row) => JSON.stringify(recordOf(row, seen))).join("\n")}\n`);
    if (flags.results) writeFileSync(flags.results, resultsPage(ROWS, counts, differences, clients));
  }
  return counts.unexplained === 0 && idle.length === 0;
}

/** Runs all rows that a client can express, and returns the aspects per row. */
async function observe(client, run) {
  const recordings = new Map();
  const rows = [];
  for (const row of ROWS) {
    if (client !== "loadstone" && !peersOf(row).includes(client)) continue;
    const recording = new Recording(row.answers);
    if (!(await recording.listen(["o", ...(row.ports ?? [])]))) {
      console.log(`${row.id} is left out: this machine has no address ::1`);
      continue;
    }
    recordings.set(row.id, recording);
    const filled = (step) => ({ ...step, url: recording.fill(step.url), ...(step.loadstoneUrl && { loadstoneUrl: recording.fill(step.loadstoneUrl) }) });
    const steps = row.steps.map(filled).map((step) => (client === "loadstone" ? step : neutral(step)));
    rows.push({ ...row, steps, pauseMs: pauseOf(row), origins: recording.origins });
  }
  const outcomes = await run(rows);
  const defaults = new Set(["defaults/get", "defaults/get-by-fetch"].flatMap((id) => [...defaultsOf(recordings.get(id))]));
  const aspects = {};
  for (const row of rows) {
    const recording = recordings.get(row.id);
    recording.close();
    if (outcomes[row.id] === "unable") continue;
    const ends = outcomes[row.id].map(inLatin1(client));
    aspects[row.id] = row.isResponse ? ofResponses(recording, ends) : ofRequests(recording, ends, row.id.startsWith("defaults/") ? new Set() : defaults);
    Object.assign(aspects[row.id], { message: ends.map((each) => each.error).find(Boolean), text: ends[0].text, json: JSON.stringify(ends[0].json) });
    if (ends[0].threw && recording.requests.length === 0) aspects[row.id].refused = "yes";
  }
  return aspects;
}

/** A client may notice the end of a connection, or bytes that it did not ask for, before its next request, or not. It does after a pause. */
function pauseOf(row) {
  const steps = (row.answers ?? []).flat();
  if (row.pauseMs !== undefined || row.hangs || row.steps.length === 1) return row.pauseMs ?? 0;
  const waits = steps.filter((step) => typeof step === "number").reduce((sum, each) => sum + each, 0);
  return steps.includes(CLOSE) || steps.includes(RESET) ? 60 + waits : row.isResponse ? 15 : 0;
}

function peersOf(row) {
  return row.refused ? [] : (row.only ?? PEERS);
}

/** JSON as a body, since the peers have no such option. */
function neutral(step) {
  const { loadstone, loadstoneUrl, as, json, ...rest } = step;
  if (json === undefined) return rest.body === undefined ? rest : { ...rest, body: Buffer.from(rest.body) };
  const hasType = rest.headers.some(([name]) => name.toLowerCase() === "content-type");
  return { ...rest, body: Buffer.from(JSON.stringify(json)), headers: hasType ? rest.headers : [...rest.headers, ["Content-Type", "application/json"]] };
}

async function runWithFile(program, words, rows) {
  const file = join(folder, `${program}.json`);
  writeFileSync(file, JSON.stringify(rows, (_, value) => (value?.type === "Buffer" ? Buffer.from(value.data).toString("base64") : value)));
  const options = { maxBuffer: 1 << 28, cwd: HERE };
  return new Promise((resolve, reject) => execFile(program, [...words, file], options, (error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout)))));
}

/** Headers as bytes in Latin-1, whichever way a client has them. */
function inLatin1(client) {
  const decoders = { go: (text) => Buffer.from(text, "base64").toString("latin1"), loadstone: (text) => Buffer.from(text).toString("latin1") };
  const decode = decoders[client] ?? ((text) => text);
  return (outcome) => ({ ...outcome, headers: outcome.headers?.map(([name, value]) => [decode(name), decode(value)]) });
}

function compare(seen, differences) {
  const counts = { compared: 0, explained: 0, faults: 0, unexplained: 0, kinds: {}, alone: [] };
  for (const row of ROWS.filter(({ id }) => seen.loadstone[id])) {
    const kind = (counts.kinds[row.id.split("/")[0]] ??= { rows: 0, compared: 0, explained: 0, faults: 0, unexplained: 0 });
    kind.rows++;
    const ours = seen.loadstone[row.id];
    const all = PEERS.filter((peer) => seen[peer]?.[row.id]).map((peer) => [peer, seen[peer][row.id]]);
    const expected = expectedOf(row);
    if (expected) all.push(["expected", expected]);
    for (const [peer, theirs] of all) {
      const { compared, differing } = peer === "expected" ? againstExpected(ours, theirs) : 
        differingAspects(ours, theirs, row.isResponse, (name) => isHeaderOf(differences, peer, name));
      counts.compared += compared;
      kind.compared += compared;
      for (const [aspect, mine, other] of differing) {
        const line = explain(differences, row.id, peer, aspect);
        const column = line ? "explained" : "unexplained";
        counts[column]++;
        kind[column]++;
        if (line?.isFault) counts.faults++, kind.faults++;
        if (line && !flags.show) continue;
        console.log(`${row.id} ${peer} ${aspect}${line ? `  (${line.reason})` : ""}`);
        console.log(`    Loadstone ${JSON.stringify(mine)} ${ours.message ?? ""}\n    ${peer.padEnd(9)} ${JSON.stringify(other)} ${theirs.message ?? ""}`);
      }
    }
  }
  return counts;
}

function againstExpected(ours, theirs) {
  const aspects = Object.keys(theirs);
  return { compared: aspects.length, differing: aspects.filter((each) => ours[each] !== theirs[each]).map((each) => [each, ours[each], theirs[each]]) };
}

/** What a row demands by itself: a refusal by the script API, a body's text, its JSON. */
function expectedOf(row) {
  if (row.refused) return { refused: "yes" };
  if (row.text === undefined) return undefined;
  return { text: row.text, ...(row.json !== undefined && { json: JSON.stringify(row.json) }) };
}

function recordOf(row, seen) {
  return { id: row.id, ...Object.fromEntries(PEERS.filter((peer) => seen[peer]?.[row.id]).map((peer) => {
    const { message, text, json, refused, ...rest } = seen[peer][row.id];
    return [peer, rest];
  })) };
}

function versions() {
  const first = (program, ...words) => execFileSync(program, words, { encoding: "utf8" }).split("\n")[0];
  const curl = first("curl", "-q", "--version").split(" (")[0];
  const loadstone = `${first(resolve(flags.loadstone), "--version")}, commit ${first("git", "rev-parse", "--short=10", "HEAD")}`;
  return [loadstone, curl, `Node ${first("node", "--version")}`, first("go", "version")];
}
