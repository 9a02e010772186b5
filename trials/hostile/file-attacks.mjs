// Attacks by files: run directories, imports and data from somebody else, and by callers of what Loadstone serves. A row each: see attacks.mjs.

import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { ESCAPES, FAILED, clean, once } from "./scripts.mjs";

const plain = once(`await user.get("/", { name: "R" });`);
const forEightSeconds = `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(10).for("8s")) });`;
const small = { mib: 300, seconds: 30, exits: [0, 1, 2, ...FAILED] };
const refused = { ...small, exits: [1, 2] };

/** Runs the test once, and lets `change` damage its directory. */
const stored = (change) => ({ folder, loadstone }) => {
  try {
    execFileSync(loadstone, ["run", "a.load.ts"], { cwd: folder, env: { ...process.env, TMPDIR: folder }, stdio: "ignore" });
  } catch {
    // The exit code is that of the run's verdict.
  }
  const run = join(folder, "runs", readdirSync(join(folder, "runs"))[0]);
  change(run);
};
const replaced = (file, from, to) => stored((run) => writeFileSync(join(run, file), readFileSync(join(run, file), "utf8").replaceAll(from, to)));
const linked = (file, to) => stored((run) => { try { unlinkSync(join(run, file)); } catch { /* It may not exist. */ } symlinkSync(to, join(run, file)); });
const rundir = (id, prepare, row) => ({ id: `run/${id}`, server: "ok", script: plain, command: ["report", "latest"], limits: small, prepare, ...row });

const imported = (id, format, text, row) => ({
  id: `import/${id}`, script: "", command: ["import", format, "in.txt", "-o", "out.load.ts"], limits: small,
  prepare: ({ folder }) => writeFileSync(join(folder, "in.txt"), typeof text === "string" ? text : text()), ...row,
});
const har = (url, headers = []) => JSON.stringify({ log: { version: "1.2", entries: [{ startedDateTime: "2026-01-01T00:00:00Z", time: 1, request: { method: "GET", url, headers, queryString: [], httpVersion: "HTTP/1.1" }, response: { status: 200, headers: [], content: {} } }] } });
/** The written test must not execute text of its source: it would create a file or print. */
const inert = ({ folder, out, files }) => {
  const written = files.named["out.load.ts"] ?? "";
  return /PWNED/.test(out.replaceAll(written, "")) || readdirSync(folder).includes("pwned") ? "text of the file was executed" : undefined;
};
const CODE = "`${console.log('PWNED')}`\"+console.log('PWNED')+\"'+console.log('PWNED')+'*/console.log('PWNED')/*\u2028console.log('PWNED')";

export const FILE_ATTACKS = [
  rundir("endless-file", linked("run.json", "/dev/zero"), { limits: refused }),
  rundir("endless-snapshots", linked("snapshots.jsonl", "/dev/zero"), { limits: refused }),
  rundir("terminal", linked("end.json", "/dev/tty"), { limits: small }),
  rundir("pipe", stored((run) => { unlinkSync(join(run, "run.json")); execFileSync("mkfifo", [join(run, "run.json")]); }), { limits: refused }),
  rundir("nested-json", stored((run) => writeFileSync(join(run, "snapshots.jsonl"), "[".repeat(5_000_000) + "\n")), { limits: refused }),
  rundir("huge-numbers", stored((run) => {
    const path = join(run, "snapshots.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/:(\d+)([,}])/g, ":18446744073709551615$2"));
  })),
  rundir("negative-and-not-numbers", stored((run) => {
    const path = join(run, "snapshots.jsonl");
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/:(\d+)([,}])/g, ":-1e308$2"));
  })),
  rundir("huge-second", replaced("snapshots.jsonl", /"slice":\d+/g, "\"slice\":4294967295")),
  rundir("markup", stored((run) => {
    for (const file of ["run.json", "snapshots.jsonl"]) {
      writeFileSync(join(run, file), readFileSync(join(run, file), "utf8").replaceAll("\"R\"", "\"<img src=x onerror=alert(1)></script><script>alert(1)</script>\""));
    }
  }), { check: ({ files }) => (/<\/script><script>alert/.test(files.named["report.html"] ?? "</script><script>alert") ? "the report contains markup" : undefined) }),
  rundir("escapes", stored((run) => {
    for (const file of ["run.json", "snapshots.jsonl"]) {
      writeFileSync(join(run, file), readFileSync(join(run, file), "utf8").replaceAll("\"R\"", JSON.stringify(ESCAPES)));
    }
  }), { command: ["show", "latest"], check: ({ out }) => clean(out) }),
  rundir("id-of-another-folder", replaced("run.json", /"id":\s*"[^"]*"/g, "\"id\":\"../../../escaped\""), {
    check: ({ folder }) => (readdirSync(join(folder, "..")).includes("escaped") ? "wrote outside" : undefined),
  }),
  rundir("link-for-report", stored((run) => { unlinkSync(join(run, "report.html")); symlinkSync("../../victim", join(run, "report.html")); writeFileSync(join(run, "../../victim"), "mine"); }), {
    check: ({ files }) => (files.named.victim === "mine" ? undefined : "a link led to another file, which was overwritten"),
  }),
  rundir("compare-with-damaged", stored((run) => { cpSync(run, `${run}-2`, { recursive: true }); writeFileSync(join(`${run}-2`, "snapshots.jsonl"), "{}\n{}\n"); }), { command: ["compare", "latest~1", "latest"] }),
  rundir("csv-formula", replaced("snapshots.jsonl", "\"R\"", "\"=cmd|' /C calc'!A0\""), {
    command: ["export", "--table", "seconds", "--format", "csv", "latest"], check: ({ out }) => (/(^|,)"?=cmd/m.test(out) ? "a spreadsheet would execute a name" : undefined),
  }),
  rundir("in-ui-list", stored((run) => { mkdirSync(`${run}-2`); symlinkSync("/dev/zero", join(`${run}-2`, "run.json")); }), { command: ["runs"] }),

  imported("har-code", "har", har(`http://127.0.0.1/${CODE}?a=${CODE}`, [{ name: "x", value: CODE }]), { limits: small, check: inert }),
  imported("har-nested", "har", () => "[".repeat(2_000_000)),
  imported("curl-code", "curl", `curl 'http://127.0.0.1/${CODE.replaceAll("'", "")}' -H "x: $(touch pwned)" -d '\`touch pwned\`'`, { check: inert }),
  imported("jmeter-entities", "jmeter", `<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaaaaaaaa">${"bcdefghij".split("").map((name, n) => `<!ENTITY ${name} "${`&${"abcdefghij"[n]};`.repeat(10)}">`).join("")}]><jmeterTestPlan>&j;</jmeterTestPlan>`),
  imported("jmeter-file-entity", "jmeter", `<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><jmeterTestPlan><hashTree><TestPlan testname="&a;"/></hashTree></jmeterTestPlan>`, { check: ({ files, out }) => (/root:x?:0/.test(files.text + out) ? "reads a file" : undefined) }),
  imported("openapi-cycle", "openapi", JSON.stringify({ openapi: "3.0.0", info: { title: CODE, version: "1" }, servers: [{ url: "http://127.0.0.1" }], paths: { "/a": { post: { requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/A" } } } }, responses: {} } } }, components: { schemas: { A: { type: "object", required: ["a", "b"], properties: { a: { $ref: "#/components/schemas/A" }, b: { $ref: "#/components/schemas/A" } } } } } }), { check: inert }),
  imported("openapi-doubling", "openapi", () => JSON.stringify({ openapi: "3.0.0", info: { title: "t", version: "1" }, servers: [{ url: "http://127.0.0.1" }], paths: { "/a": { post: { requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/A0" } } } }, responses: {} } } }, components: { schemas: Object.fromEntries([...Array.from({ length: 40 }, (_, n) => [`A${n}`, { type: "object", required: ["a", "b"], properties: { a: { $ref: `#/components/schemas/A${n + 1}` }, b: { $ref: `#/components/schemas/A${n + 1}` } } }]), ["A40", { type: "string" }]]) } })),
  imported("postman-nested", "postman", () => `{"info":{"name":"t","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},"item":[${"{\"name\":\"f\",\"item\":[".repeat(100)}${"]}".repeat(100)}]}`),

  {
    id: "serve/rebinding-and-control", server: "ok", args: ["--live", "--live-address", "page.txt"], script: forEightSeconds, limits: { ...small, exits: [0, 4] },
    during: async (attack) => {
      const port = await pagePort(attack);
      attack.seen = [
        await said(port, "GET /events HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
        await said(port, `POST /control HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://evil.example\r\nContent-Length: 30\r\nConnection: close\r\n\r\n{"token":"","action":"stop"}  `),
        await said(port, `GET /..%2f..%2f..%2fetc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`),
      ];
    },
    check: ({ attack, summary }) => (attack.seen.some((answer) => !/^HTTP\/1.1 (403|404|400)/.test(answer)) ? `answers ${JSON.stringify(attack.seen.map((answer) => answer.slice(0, 20)))}` : summary.totals.requests < 75 ? "the run was stopped" : undefined),
  },
  {
    id: "serve/idle-connections", server: "ok", args: ["--live", "--live-address", "page.txt"], script: forEightSeconds, limits: { ...small, exits: [0, 4] },
    during: async (attack) => {
      const port = await pagePort(attack);
      attack.sockets = Array.from({ length: 400 }, () => connect(port, "127.0.0.1").on("error", () => {}));
      attack.sockets.forEach((socket) => socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx: "));
    },
    check: ({ attack, summary }) => { attack.sockets.forEach((socket) => socket.destroy()); return summary.totals.requests < 79 ? `${summary.totals.requests} requests` : undefined; },
  },
  {
    id: "serve/stub-floods", limits: { ...small, exits: [0, 4] },
    script: `import { stub } from "loadstone";
const hook = stub.http({ listen: "127.0.0.1:" + free });
hook.on("POST /h", { status: 200 });
const s = scenario("S", async (user) => { await user.get("http://127.0.0.1:" + second + "/", { name: "R" }); });
export default test({ load: s.run(arrivals(10).for("8s")) });`,
    during: async ({ free, sleep }) => {
      await sleep(3_000);
      const flood = (head, piece) => { const socket = connect(free, "127.0.0.1").on("error", () => {}); socket.write(head); const push = () => { while (!socket.destroyed && socket.write(piece)); socket.once("drain", push); }; push(); setTimeout(() => socket.destroy(), 6_000); };
      flood("POST /h HTTP/1.1\r\nHost: a\r\n", Buffer.alloc(1 << 20, "x: 1\r\n"));
      flood("POST /h HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", Buffer.alloc(1 << 20, "x"));
      flood("POST /h HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Buffer.alloc(1 << 20, "1\r\na\r\n"));
    },
  },
];

async function pagePort({ folder, sleep }) {
  for (;;) {
    try {
      return Number(/:(\d+)\//.exec(readFileSync(join(folder, "page.txt"), "utf8"))[1]);
    } catch {
      await sleep(100);
    }
  }
}

/** Sends bytes and returns the beginning of what follows. */
function said(port, text) {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on("data", (data) => (answer += data.toString("latin1")).length > 200 && socket.destroy());
    socket.on("error", () => {}).on("close", () => resolve(answer));
  });
}
