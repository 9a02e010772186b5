// Runs k6 scripts of others in k6 and in Loadstone against recording servers, and compares plans, requests, checks and exit codes. The scripts are a folder of
// checkouts, which is copied: their hosts become the server's, and their scenarios one VU with two iterations. Run it without access to a network:
// unshare -n sh -c 'ip link set lo up; node trials/k6/public.mjs --scripts FOLDER --loadstone BINARY [--k6 BINARY] [--only TEXT] [--results FILE]'
// FOLDER/jslib may contain the files of jslib.k6.io.
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";

const option = (name, otherwise) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
};
const k6 = option("k6", "k6");
const loadstone = option("loadstone");
const scripts = option("scripts");
const only = option("only", "");
const SLOTS = 3;
const root = mkdtempSync(join(tmpdir(), "k6-public-"));

const ANSWER = JSON.stringify({ id: 1, name: "x", token: "t", access_token: "t", data: [{ id: 1, token: "t" }], items: [{ id: 1 }], status: "ok" });

/** Answers every request alike, and records what it was without what may be random. */
async function serve() {
  let requests = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const names = Object.keys(request.headers).filter((name) => !["content-length", "transfer-encoding", "connection", "user-agent"].includes(name));
      const target = request.url.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, "UUID").replaceAll(/\d+/g, "N");
      requests.push(`${request.method} ${target} | ${names.sort().join(" ")} | ${shape(Buffer.concat(chunks).toString("latin1"))}`);
      response.setHeader("Content-Type", "application/json");
      response.end(ANSWER);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: server.address().port,
    take: () => requests.splice(0),
    stop: () => (server.closeAllConnections(), server.close()),
  };
}

/** The keys of a body. */
function shape(body) {
  if (body === "") return "";
  try {
    const keys = (value) =>
      Array.isArray(value) ? [keys(value[0])] : value && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, keys(value[key])])) : typeof value;
    return JSON.stringify(keys(JSON.parse(body)));
  } catch {
    return /^[\w.%+-]+=/.test(body) ? [...new URLSearchParams(body).keys()].sort().join(" ") : `${body.slice(0, 2)} ${Math.round(Math.log2(body.length))}`;
  }
}

const isScript = (name) => /\.(js|mjs|ts)$/.test(name) && !name.endsWith(".d.ts");

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !["node_modules", ".git", "jslib"].includes(entry.name)) yield* files(path);
    else if (entry.isFile()) yield path;
  }
}

/** What may be run on its own, and does not need a browser or an extension. */
function isEntry(text) {
  const runs = /export\s+default|export\s*\{[^}]*\bdefault\b/.test(text) || (/export\s+(const|let|var)\s+options/.test(text) && /scenarios/.test(text));
  return runs && /from\s+["']k6(\/|["'])/.test(text) && !/k6\/(x\/|browser|experimental\/browser)/.test(text);
}

const LIBRARY = /(["'])https:\/\/jslib\.k6\.io\/([^"']+)\1/g;
const HOST = /\b(http|ws)s?:\/\/(?!jslib\.k6\.io)[A-Za-z0-9][A-Za-z0-9.-]*(:\d+)?(?=[/"'`?#$]|$)/gm;

/** Copies all scripts, with their hosts replaced by this server. */
function prepare(folder, port) {
  cpSync(scripts, folder, { recursive: true });
  for (const path of files(folder)) {
    if (!isScript(path) || statSync(path).size > 1e6) continue;
    const library = (_, quote, name) => `${quote}${relative(dirname(path), join(folder, "jslib", name)).replace(/^(?!\.)/, "./")}${quote}`;
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(LIBRARY, library).replaceAll(HOST, `$1://127.0.0.1:${port}`));
  }
}

const SHORT = `
const short = (options = {}) => {
  const { stages, duration, iterations, vus, scenarios, ext, cloud, ...others } = options ?? {};
  const twice = { executor: "per-vu-iterations", vus: 1, iterations: 2, maxDuration: "30s", gracefulStop: "0s" };
  const kept = ({ exec, env, tags }) => ({ ...twice, ...(exec ? { exec } : {}), ...(env ? { env } : {}), ...(tags ? { tags } : {}) });
  const listed = Object.fromEntries(Object.entries(scenarios ?? { default: {} }).map(([name, scenario]) => [name, kept(scenario)]));
  // k6 records its VUs each second.
  return { minIterationDuration: "700ms", ...others, scenarios: listed };
};`;

/** A module that exports what the script does, with other options. */
function wrap(path, text) {
  const from = JSON.stringify(`./${basename(path)}`);
  const wrapper = join(dirname(path), `wrapped-${basename(path)}`);
  const hasDefault = /export\s+default|export\s*\{[^}]*\bdefault\b/.test(text);
  const body = `import * as original from ${from};\nexport * from ${from};\n${hasDefault ? `export { default } from ${from};\n` : ""}${SHORT}\nexport const options = short(original.options);\n`;
  writeFileSync(wrapper, body);
  return wrapper;
}

function run(command, args, cwd) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd, timeout: 90_000, maxBuffer: 1 << 27 }, (error, stdout, stderr) => {
      resolve({ code: error ? (error.code ?? "killed") : 0, stdout, stderr });
    });
  });
}

const seconds = (text) => [...text.matchAll(/([\d.]+)(h|ms|m|s|µs|ns)/g)].reduce((sum, [, number, unit]) => sum + number * { h: 3600, m: 60, s: 1, ms: 1e-3, "µs": 1e-6, ns: 1e-9 }[unit], 0);

function planOfK6(text) {
  const plan = JSON.parse(text);
  const thresholds = Object.values(plan.thresholds ?? {}).reduce((sum, listed) => sum + listed.length, 0);
  return { scenarios: Object.keys(plan.scenarios ?? { default: 1 }).sort(), thresholds, seconds: seconds(plan.totalDuration) };
}

function planOfLoadstone(text) {
  const plan = JSON.parse(text);
  const runs = (load) => (load.run ? [load.run] : Object.values(load).flatMap((inner) => [inner].flat().flatMap(runs)));
  const lasts = ({ profile, start_after_ns: after = 0, graceful_stop_ns: grace = 0 }) => {
    if (profile.iterations) return after + (profile.iterations.duration_max_ns ?? 0) + grace;
    const stages = (profile.closed ?? profile.open).stages;
    return after + grace + stages.reduce((sum, stage) => sum + (stage.duration_ns ?? stage.rate?.duration_ns ?? 0), 0);
  };
  const load = runs(plan.load).filter((one) => (one.role ?? "load") === "load");
  const names = load.map((one) => plan.scenarios[one.scenario].name);
  return { scenarios: [...new Set(names)].sort(), thresholds: plan.thresholds.length, seconds: Math.max(...load.map(lasts)) / 1e9 };
}

function checksIn(file) {
  try {
    const summary = JSON.parse(readFileSync(file, "utf8"));
    const all = (group) => [...Object.values(group.checks).map((check) => `${check.path} ${check.passes > 0} ${check.fails > 0}`), ...Object.values(group.groups).flatMap(all)];
    return all(summary.root_group).sort();
  } catch {
    return [];
  }
}

const VARIABLES = ["BASE_URL", "BASEURL", "URL", "HOST", "HOSTNAME", "TARGET", "TARGET_URL", "API_URL", "ENDPOINT", "GATEWAY_ENDPOINT"];

async function observed(tool, wrapper, folder, server) {
  const summary = join(folder, `${tool}-summary.json`);
  const env = VARIABLES.flatMap((name) => ["-e", `${name}=${name.startsWith("HOST") ? `127.0.0.1:${server.port}` : `http://127.0.0.1:${server.port}`}`]);
  const args = ["run", wrapper, ...env, "--quiet", "--summary-export", summary];
  server.take();
  const ended =
    tool === "k6"
      ? await run(k6, [...args, "--no-usage-report", "--address", ""], folder)
      : await run(loadstone, [...args, "--k6-exit-codes", "--no-save", "--workers", "1"], folder);
  const seen = { requests: server.take().sort(), checks: checksIn(summary), code: [String(ended.code)] };
  rmSync(summary, { force: true });
  return { seen, output: `${ended.stdout}\n${ended.stderr}`, code: ended.code };
}

const aspectsOf = (one, other) => Object.keys(one).filter((aspect) => JSON.stringify(one[aspect]) !== JSON.stringify(other[aspect]));
/** Codes with which k6 ends after it ran the test: passed, thresholds failed, aborted, marked as failed. */
const RAN = [0, 99, 108, 110];

async function compare(path, folder, server) {
  const text = readFileSync(path, "utf8");
  const env = VARIABLES.flatMap((name) => ["-e", `${name}=http://127.0.0.1:${server.port}`]);
  const wrapper = wrap(path, text);
  const of_k6 = await observed("k6", wrapper, folder, server);
  const of_loadstone = await observed("loadstone", wrapper, folder, server);
  if (!RAN.includes(of_k6.code)) return { state: "k6 fails", ranHere: RAN.includes(of_loadstone.code), k6: of_k6, loadstone: of_loadstone };
  let aspects = aspectsOf(of_k6.seen, of_loadstone.seen);
  if (aspects.length > 0) {
    // What differs between two runs of k6 is random.
    const again = await observed("k6", wrapper, folder, server);
    const random = aspectsOf(of_k6.seen, again.seen);
    if (random.length > 0) aspects = aspects.filter((aspect) => !random.includes(aspect));
  }
  const [inspected, planned] = [
    await run(k6, ["inspect", "--execution-requirements", ...env, path], folder),
    await run(loadstone, ["inspect", path, ...env], folder),
  ];
  let plans = {};
  if (inspected.code === 0) {
    try {
      plans = { k6: planOfK6(inspected.stdout), loadstone: planOfLoadstone(planned.stdout) };
    } catch (error) {
      plans = { k6: inspected.stdout.slice(0, 200), loadstone: `${error.message} ${planned.stderr.slice(0, 500)}` };
    }
    if (JSON.stringify(plans.k6) !== JSON.stringify(plans.loadstone)) aspects.push("plan");
  }
  return { state: aspects.length === 0 ? "same" : "differs", aspects, plans, k6: of_k6, loadstone: of_loadstone };
}

mkdirSync(root, { recursive: true });
const slots = await Promise.all(
  Array.from({ length: SLOTS }, async (_, index) => {
    const server = await serve();
    const folder = join(root, `slot${index}`);
    prepare(folder, server.port);
    return { folder, server };
  }),
);
const names = [...files(scripts)]
  .filter((path) => isScript(path) && statSync(path).size < 1e6 && isEntry(readFileSync(path, "utf8")))
  .map((path) => relative(scripts, path))
  .filter((name) => name.includes(only))
  .sort();
const results = [];
const queue = [...names];
await Promise.all(
  slots.map(async ({ folder, server }) => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const result = await compare(join(folder, name), join(folder, name.split("/")[0]), server);
      results.push({ name, ...result });
      console.log(`${result.state.padEnd(8)} ${name} ${(result.aspects ?? []).join(", ")}${result.ranHere ? " (Loadstone ran it)" : ""}`);
      if (result.state === "differs" || only) {
        for (const aspect of result.aspects ?? []) {
          const of = (tool) => JSON.stringify(aspect === "plan" ? result.plans[tool] : result[tool].seen[aspect]).slice(0, 1500);
          console.log(`  k6        ${aspect}: ${of("k6")}\n  loadstone ${aspect}: ${of("loadstone")}`);
        }
        console.log(`  ${result.loadstone.output.trim().split("\n").slice(0, only ? 80 : 6).join("\n  ")}`);
        if (only) console.log(`  k6: ${result.k6.output.trim().split("\n").slice(0, 60).join("\n  ")}`);
      }
    }
  }),
);
slots.forEach(({ server }) => server.stop());
rmSync(root, { recursive: true });

const ran = results.filter(({ state }) => state !== "k6 fails");
const same = ran.filter(({ state }) => state === "same");
console.log(`${names.length} scripts: k6 runs ${ran.length}, of which ${same.length} are the same in Loadstone`);
const table = option("results");
if (table && !only) {
  const version = (await run(k6, ["version"], ".")).stdout.trim().split(" (")[0];
  const repository = ({ name }) => name.split("/")[0].replace("+", "/");
  const count = (listed, of) => listed.filter((result) => repository(result) === of).length;
  const rows = [...new Set(results.map(repository))].sort().map((of) => `| ${of} | ${count(results, of)} | ${count(ran, of)} | ${count(same, of)} |`);
  const differing = ran.filter(({ state }) => state === "differs").sort((a, b) => a.name.localeCompare(b.name));
  writeFileSync(
    table,
    `# Public k6 scripts\n\n` +
      `\`trials/k6/public.mjs\` ran each script of these repositories in ${version} and in Loadstone, with one VU and two iterations for each scenario, against a\n` +
      `server that answers every request alike. It compares requests (method, target, names of headers, keys of the body; digits are ignored), checks that passed and\n` +
      `failed, and the exit code; and of the script's own options the scenarios, the number of thresholds and the duration. Scripts that need a browser or an\n` +
      `extension of k6 are left out. What differs between two runs of k6 is random, and not compared.\n\n` +
      `**${same.length} of ${ran.length}** scripts that k6 runs are the same. k6 itself failed in ${results.length - ran.length} others, mostly for a module or file that is not there.\n\n` +
      `| repository | scripts | k6 runs | the same |\n|---|---|---|---|\n${rows.join("\n")}\n\n` +
      (differing.length === 0 ? "" : `| differs | in |\n|---|---|\n${differing.map(({ name, aspects }) => `| \`${name}\` | ${aspects.join(", ")} |`).join("\n")}\n`),
  );
}
