// The attacks, a row each.
//
//   id        kind/what
//   server    a kind of servers.mjs; its port is `port` in the script
//   dnsServer a kind of dns-server.mjs
//   script    the test; `arrivals`, `once` and so on are imported. May be a function of the DNS server's port
//   args      of `loadstone run`; `command` is the whole command line. May be functions of unused ports: `bus`, or `free` and `bus`
//   limits    { mib, seconds, exits }: peak memory, time until the process has ended, and allowed exit codes
//   exception why a limit is wider than the attack's harm allows; the table shows it
//   prepare   ({ folder, loadstone, bus }): creates files and starts other processes before the command starts
//   secondServer  the kind of the other host. Default: ok
//   environment   ({ second }): variables of the process; `second` is the port of the other host
//   input     async generator of what the process reads from its standard input
//   during    async ({ process, folder, free, bus, sleep }): what the attacker or the user does meanwhile
//   check     ({ out, folder, files, summary, second, dns }): an error as a string, or undefined

import { rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";

import { DAMAGED_ATTACKS } from "./damaged-attacks.mjs";
import { FILE_ATTACKS } from "./file-attacks.mjs";
import { NETWORK_ATTACKS } from "./network-attacks.mjs";
import { PROTOCOL_ATTACKS } from "./protocol-attacks.mjs";
import { PROXY_ATTACKS } from "./proxy-attacks.mjs";
import { REVIEW_ATTACKS } from "./review-attacks.mjs";
import { FAILED, SECRETS, clean, forThreeSeconds, observed, once, spell } from "./scripts.mjs";
import { amplified } from "./servers.mjs";

const FIRST_ATTACKS = [
  { id: "recursion/xml", server: "xml-nested", script: once(`(await user.get("/", { name: "R" })).xpath("//a");`), limits: { mib: 300, seconds: 30, exits: FAILED } },
  { id: "recursion/html-css", server: "html-nested", script: once(`(await user.get("/", { name: "R" })).css("div");`), limits: { mib: 400, seconds: 30, exits: FAILED } },
  { id: "recursion/html-xpath", server: "html-nested", script: once(`(await user.get("/", { name: "R" })).xpath("//div");`), limits: { mib: 400, seconds: 30, exits: FAILED } },
  { id: "recursion/html-attributes", server: "html-attributes", script: once(`(await user.get("/", { name: "R" })).css("div");`), limits: { mib: 400, seconds: 30, exits: [0, ...FAILED] } },
  { id: "recursion/json", server: "json-nested", script: once(`(await user.get("/", { name: "R" })).json("$[0]");`), limits: { mib: 300, seconds: 30, exits: FAILED } },
  { id: "recursion/selector", server: "ok", script: once(`(await user.get("/", { name: "R" })).css(":not(".repeat(20000) + "a" + ")".repeat(20000));`), limits: { mib: 300, seconds: 30, exits: FAILED } },
  { id: "recursion/source", script: `const a = ${"[".repeat(3_000)}${"]".repeat(3_000)};\n${once("")}`, limits: { mib: 600, seconds: 30, exits: [2, 3] } },
  { id: "recursion/deep-source", script: `const a = ${"[".repeat(100_000)}${"]".repeat(100_000)};\n${once("")}`, limits: { mib: 600, seconds: 30, exits: [2] } },
  { id: "recursion/inspect", command: ["inspect", "a.load.ts"], script: `const a = ${"[".repeat(100_000)}${"]".repeat(100_000)};\n${once("")}`, limits: { mib: 600, seconds: 30, exits: [2] } },

  { id: "flood/ws-pings", server: "ws-pings", script: forThreeSeconds(`const w = await user.ws("/", { name: "open", unread: "drop" }); await w.receive({ name: "recv", within: "2s" });`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED] } },
  { id: "flood/ws-empty-frames", server: "ws-empty-frames", script: forThreeSeconds(`const w = await user.ws("/", { name: "open", unread: "drop" }); await w.receive({ name: "recv", within: "2s" });`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED] } },
  { id: "flood/sse-ids", server: "sse-ids", script: forThreeSeconds(`const e = await user.events("/", { name: "open" }); await e.receive({ name: "recv", within: "2s" });`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED] } },
  { id: "flood/sse-comments", server: "sse-comments", script: forThreeSeconds(`const e = await user.events("/", { name: "open" }); await e.receive({ name: "recv", within: "2s" });`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED] } },
  { id: "flood/postgres-parameters", server: "postgres-parameters", script: forThreeSeconds(`await user.sql("postgres://a:b@127.0.0.1:" + port + "/x").query("select 1");`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED, 5] } },
  { id: "flood/redis-pushes", server: "redis-pushes", script: forThreeSeconds(`await user.redis("redis://127.0.0.1:" + port).command("PING");`), limits: { mib: 300, seconds: 30, exits: [0, ...FAILED, 5] } },
  {
    id: "flood/interrupted", server: "ws-pings", limits: { mib: 300, seconds: 30, exits: [130] },
    script: forThreeSeconds(`const w = await user.ws("/", { name: "open", unread: "drop" }); await w.receive({ name: "recv", within: "60s" });`).replace("3s", "600s"),
    during: async ({ process, sleep }) => { await sleep(3_000); process.kill("SIGINT"); await sleep(1_000); process.kill("SIGINT"); },
  },

  {
    id: "memory/otlp", server: "ok", limits: { mib: 500, seconds: 40, exits: [0, 4] }, args: ["--no-save"],
    script: `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(10).for("6s")), observe: [observe.traces({ listen: "127.0.0.1:" + free })] });`,
    during: async ({ free, sleep }) => { await sleep(3_000); await post(free, amplified(Buffer.from("0a0412021200", "hex"))); },
  },
  { id: "memory/pprof", server: "pprof", script: observed(`observe.go("http://127.0.0.1:" + port)`), limits: { mib: 500, seconds: 40, exits: [0, 4] } },
  { id: "memory/observe-redis", server: "redis-bulk", script: observed(`observe.redis("redis://127.0.0.1:" + port)`), limits: { mib: 300, seconds: 40, exits: [0, 4] } },
  { id: "memory/observe-postgres", server: "postgres-length", script: observed(`observe.postgres("postgres://a:b@127.0.0.1:" + port + "/x")`), limits: { mib: 300, seconds: 40, exits: [0, 4] } },
  { id: "memory/device", script: `const rows = csv("/dev/zero");\n${once("")}`, args: ["--allow-read", "/dev/zero"], limits: { mib: 200, seconds: 20, exits: [2] } },
  {
    id: "memory/error-texts", server: "unique-pages", limits: { mib: 700, seconds: 60, exits: FAILED },
    script: `const s = scenario("S", async (user) => { const r = await user.get("/", { name: "R" }); throw new Error("unexpected answer: " + r.text); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(20).for("5s")) });`,
    check: ({ files }) => (files.bytes > 20 << 20 ? `the run directory has ${files.bytes >> 20} MiB` : undefined),
  },
  { id: "memory/name", server: "ok", script: once(`await user.get("/", { name: "N" + "x".repeat(400_000) });`), limits: { mib: 300, seconds: 20, exits: [0, 4] } },

  {
    id: "secrets/echo", server: "echo", limits: { mib: 300, seconds: 20, exits: [0, ...FAILED] },
    script: once(`await user.get("/a", { name: "basic", auth: { username: "alice", password: "${SECRETS[0]}" } });
  await user.get("/b", { name: "bearer", auth: { bearer: "${SECRETS[1]}" } });
  const r = await user.get("/c?token=${SECRETS[2]}", { name: "query", headers: { "x-api-key": "${SECRETS[3]}", cookie: "sid=${SECRETS[4]}" } });
  console.log(r.text);`),
    check: ({ out, files }) => {
      const shown = SECRETS.slice(0, 5).filter((secret) => spell(secret).some((text) => out.includes(text) || files.text.includes(text)));
      return shown.length > 0 ? `shows ${shown.join(", ")}` : undefined;
    },
  },
  { id: "escapes/try", server: "escapes", command: ["try", "a.load.ts"], script: once(`const r = await user.get("/", { name: "R" }); console.log(r.text); throw new Error(r.text);`), limits: { mib: 300, seconds: 20, exits: [0, 2, ...FAILED] }, check: ({ out }) => clean(out) },
  {
    id: "escapes/run", server: "escapes", args: ["--junit", "junit.xml"], script: once(`const r = await user.get("/", { name: "R" }); console.log(r.text); user.check("check " + r.text, false); throw new Error(r.text);`), limits: { mib: 300, seconds: 20, exits: [0, ...FAILED] },
    check: ({ out, files }) => clean(out) ?? clean(files.named["console.log"] ?? "") ?? clean(files.named["junit.xml"] ?? ""),
  },
  {
    id: "network/redirect", server: (second) => `redirect=${second}`, script: once(`const r = await user.get("/", { name: "R" }); console.log("location", r.headers.location);`), limits: { mib: 300, seconds: 20, exits: [0, ...FAILED] },
    check: ({ out, second }) => (second.requests() > 0 ? "the other host received a request" : !out.includes("/away") ? "the location is lost" : undefined),
  },
  {
    id: "disk/folder-vanishes", server: "ok", limits: { mib: 300, seconds: 40, exits: [0, 4] },
    script: `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(10).for("6s")) });`,
    during: async ({ folder, sleep }) => { await sleep(3_500); rmSync(join(folder, "runs"), { recursive: true, force: true }); },
    check: ({ out }) => (out.includes("has vanished; the run continues in") ? undefined : "no notice"),
  },
  {
    id: "disk/file-size-limit", server: "ok", shell: "ulimit -f 16; exec \"$@\"", limits: { mib: 300, seconds: 60, exits: [1, 2, 3, 4] },
    script: `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); console.log("x".repeat(4000)); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(50).for("20s")) });`,
  },
  { id: "verdict/all-failed", server: "failing", script: once(`await user.get("/", { name: "R" });`).replace("iterations(1)", "iterations(20)"), limits: { mib: 300, seconds: 20, exits: [3, 4] } },
  {
    id: "verdict/two-timeouts", server: "silent", limits: { mib: 300, seconds: 40, exits: [3, 4] },
    script: `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(users(2).for("1s").gracefulStop("10s")), options: { requestTimeout: "3s" } });`,
    check: ({ summary }) => (summary.totals.request_rate > 5 ? `${summary.totals.request_rate}/s` : undefined),
  },
];

export const ATTACKS = [...FIRST_ATTACKS, ...PROTOCOL_ATTACKS, ...NETWORK_ATTACKS, ...FILE_ATTACKS, ...PROXY_ATTACKS, ...REVIEW_ATTACKS, ...DAMAGED_ATTACKS];

function post(port, body) {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-encoding": "gzip", "content-length": body.length };
    const sent = request({ host: "127.0.0.1", port, path: "/v1/traces", method: "POST", headers }, (answer) => answer.resume().on("end", resolve));
    sent.on("error", resolve);
    sent.end(body);
  });
}
