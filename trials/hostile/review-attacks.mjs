// The attacks of a second reviewer, who knew the others: a row each. See attacks.mjs for the fields.

import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ESCAPES, FAILED, clean, forThreeSeconds, observed, once } from "./scripts.mjs";

const get = `const r = await user.get("/", { name: "R" });`;
const small = { mib: 300, seconds: 30, exits: [0, ...FAILED] };
const overHttp2 = (script) => script.replace("options: {", `options: { http2: "only",`);
const noFile = ({ out, files }) => (/root:x?:0/.test(out + files.text) ? "reads a file" : undefined);
const TRAVERSAL = "../../../../../../etc/passwd";

export const REVIEW_ATTACKS = [
  { id: "review/zstd-window", server: "zstd-window", script: once(`${get} console.log(String(r.error));`), limits: small },
  { id: "review/hpack-bomb", server: "hpack-bomb", script: overHttp2(once(get)), limits: small },
  { id: "review/http2-no-window", server: "h2-no-window", script: overHttp2(once(`await user.post("/", { name: "R", body: "x".repeat(100000) });`)), limits: small },
  { id: "review/http2-resets", server: "h2-resets", script: overHttp2(forThreeSeconds(get)), limits: small },
  { id: "review/slow-bytes", server: "slow-bytes", script: forThreeSeconds(get), limits: small },
  { id: "review/unasked-upgrade", server: "unasked-upgrade", script: forThreeSeconds(get), limits: small },
  { id: "review/long-number", server: "long-number", script: forThreeSeconds(`${get} console.log(typeof r.json("$[0]"));`), limits: small },
  { id: "review/backtracking", server: "backtracking", script: once(`${get} user.check("m", /^(a+)+$/.test(r.text));`), limits: small },
  { id: "review/doubling-redirects", server: "doubling-redirect", script: once(`await user.get("/aaaaaaaa", { name: "R" });`), limits: small },
  {
    id: "review/foreign-cookies", server: "foreign-cookies", script: once(`${get} console.log("sent", (await user.get("/", { name: "R" })).text);`), limits: small,
    check: ({ out, files }) => (/sent .*[ab]=[12]/.test(out + files.text) ? "a cookie of another domain was sent" : undefined),
  },
  // The script's error names what cannot be read, so that the run ends with code 2.
  { id: "review/odd-utf16", server: "odd-utf16", script: once(`${get} r.text.length; r.css("a");`), limits: { ...small, exits: [0, 2, ...FAILED] } },
  {
    id: "review/ws-close-reason", server: "ws-close-reason", script: once(`const w = await user.ws("/", { name: "open" }); await w.receive({ name: "recv", within: "2s" });`), limits: small,
    check: ({ out }) => clean(out),
  },
  {
    id: "review/endless-output-answer", server: "ok", limits: { ...small, seconds: 40 }, secondServer: "endless-error",
    script: `const s = scenario("S", async (user) => { ${get} });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(5).for("5s")) });`,
    environment: ({ second }) => ({ LOADSTONE_OUT: `influx=http://127.0.0.1:${second}/write` }), check: ({ out }) => clean(out),
  },
  {
    id: "review/endless-proxy-head", server: "endless-proxy-head", limits: small,
    script: forThreeSeconds(`await user.get("http://127.0.0.1:1/", { name: "R" });`).replace("options: {", `options: { proxy: "http://127.0.0.1:" + port,`),
  },
  {
    id: "review/postgres-columns", server: "many-columns", limits: { ...small, exits: [0, ...FAILED, 5] },
    script: once(`const r = await user.sql("postgres://a:b@127.0.0.1:" + port + "/x").query("select 1"); console.log(r.rows?.length, String(r.error));`),
  },
  { id: "review/changing-metric-names", server: "changing-names", script: observed(`observe.prometheus("http://127.0.0.1:" + port + "/")`), limits: { mib: 500, seconds: 60, exits: [0, 4] } },
  {
    id: "review/record-times", script: "", command: ["watch", "--follow", "r.jtl", "--record", "jtl", "--for", "6s"], limits: small,
    prepare: ({ folder }) => writeFileSync(join(folder, "r.jtl"), "timeStamp,elapsed,label,responseCode,success\n"),
    during: async ({ folder, sleep }) => {
      await sleep(2_500);
      const now = Date.now();
      for (const time of [now, 1, 9_223_372_036_854, now, -5, "1e300", now + 40_000]) {
        appendFileSync(join(folder, "r.jtl"), `${time},${time},"${ESCAPES}",200,true\n`);
      }
    },
    check: ({ out }) => clean(out),
  },
  {
    id: "review/mcp-nesting", script: once(get), command: ["mcp"], limits: small, check: noFile,
    input: async function* ({ sleep }) {
      const call = (name, id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: { run: TRAVERSAL, file: TRAVERSAL, test: TRAVERSAL, baseline: TRAVERSAL, candidate: TRAVERSAL } } });
      const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } } };
      const messages = [initialize, { jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 2, method: "tools/list" }];
      messages.push(...["show_run", "summary", "get_run", "run_test", "compare_runs", "read_run"].map(call));
      for (const line of [...messages.map((message) => JSON.stringify(message)), "[".repeat(200_000), `{"jsonrpc":"2.0","id":"${"x".repeat(3_000_000)}","method":"ping"}`]) {
        yield `${line}\n`;
        await sleep(200);
      }
      await sleep(1_500);
    },
  },
  {
    id: "review/run-name-escapes", script: "", command: ["runs"], limits: { ...small, exits: [0, 2] }, check: ({ out }) => (out.includes("run.json") ? clean(out) : "the run is not named"),
    prepare: ({ folder }) => {
      const run = join(folder, "runs", "2026-01-01T00-00-00-\x1b]0;title\x07");
      mkdirSync(run, { recursive: true });
      writeFileSync(join(run, "run.json"), "{");
    },
  },
  {
    id: "review/import-reads-file", script: "", command: ["import", "curl", "in.txt", "-o", "out.load.ts"], limits: { ...small, exits: [2] }, check: noFile,
    prepare: ({ folder }) => writeFileSync(join(folder, "in.txt"), "curl http://127.0.0.1/ -d @/etc/passwd -H @/etc/passwd"),
  },
];
