// Attacks over other networks than HTTP/1.1: gRPC, DNS, the bus of a fleet, and callers of `loadstone ui`. A row each: see attacks.mjs.

import { execFileSync, spawn } from "node:child_process";
import { connect } from "node:net";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";

import { FAILED, clean, once } from "./scripts.mjs";
import { amplified } from "./servers.mjs";

const small = { mib: 300, seconds: 30, exits: [0, ...FAILED] };

/** `undefined` if the text is no JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const grpc = (id, kind, row) => ({
  id: `grpc/${id}`, server: `grpc=${kind}`, limits: small,
  prepare: ({ folder }) => writeFileSync(join(folder, "x.proto"), `syntax = "proto3"; package p; message M { string a = 1; M m = 2; } service Q { rpc Get(M) returns (M); }`),
  script: `import { proto } from "loadstone";\nproto("x.proto");\n${once(`const r = await user.grpc("p.Q/Get", { a: "x" }, { name: "G" }); console.log(String(r.error), r.message?.a?.length);`)}`,
  ...row,
});

const dns = (id, kind, row) => ({
  id: `dns/${id}`, server: "ok", dnsServer: kind, limits: { ...small, exits: [0, ...FAILED, 5] },
  script: (dnsPort) => `const s = scenario("S", async (user) => { const r = await user.get("/", { name: "R" }); console.log(String(r.error)); });
export default test({ target: "http://shop.test:" + port, load: s.run(iterations(2)), options: { requestTimeout: "3s", nameServers: ["127.0.0.1:${dnsPort}"] } });`,
  ...row,
});

const arrivalsOfSixSeconds = `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(20).for("6s")) });`;

export const NETWORK_ATTACKS = [
  // A message is kept up to 64 MiB, and copied once for the script.
  grpc("bomb", "bomb", { limits: { ...small, mib: 450 } }),
  grpc("huge-length", "length"),
  grpc("nested", "nested"),
  grpc("status", "status"),
  grpc("message", "message", { check: ({ out, files }) => clean(out) ?? clean(files.named["console.log"] ?? "") }),
  grpc("endless-headers", "headers"),
  grpc("no-status", "none"),

  dns("random-bytes", "random"),
  dns("pointer-to-itself", "pointer"),
  dns("alias-of-itself", "alias"),
  dns("many-addresses", "many"),
  dns("wrong-counts", "counts"),
  dns("another-name", "other", { check: ({ second }) => (second.requests() > 0 ? "the other host received a request" : undefined) }),
  dns("no-answer", "silent"),

  {
    id: "fleet/strangers-on-the-bus", server: "ok", script: arrivalsOfSixSeconds, limits: { mib: 400, seconds: 60, exits: [0, 4] },
    args: (bus) => ["--fleet", `nats://127.0.0.1:${bus}`, "--fleet-key", "controller.pem", "--agents", "2"],
    prepare: (attack) => {
      const { folder, loadstone, bus } = attack;
      const key = execFileSync(loadstone, ["fleet", "key", "controller.pem"], { cwd: folder, encoding: "utf8" }).match(/[A-Za-z0-9+/_-]{42,}=*/)[0];
      const options = { cwd: folder, stdio: "ignore" };
      const agent = (name) => spawn(loadstone, ["agent", "--join", `nats://127.0.0.1:${bus}`, "--controller-key", key, "--name", name], options);
      attack.others = [spawn("nats-server", ["-a", "127.0.0.1", "-p", String(bus)], options), agent("a"), agent("b")];
    },
    during: async ({ bus, others, sleep, process }) => {
      await strangers(bus, sleep, process);
      others.forEach((other) => other.kill("SIGKILL"));
    },
    check: ({ summary }) => (summary?.totals.requests === 120 ? undefined : `${summary?.totals.requests} requests instead of 120`),
  },
  {
    id: "ui/traversal", script: once(""), command: (free) => ["ui", "--listen", `127.0.0.1:${free}`], shell: `exec "$@" > ui.txt 2>&1`, limits: { mib: 300, seconds: 60, exits: [0, 130, 143] },
    prepare: ({ folder }) => {
      mkdirSync(join(folder, "outside"));
      writeFileSync(join(folder, "outside/run.json"), "{}");
      writeFileSync(join(folder, "victim"), "mine");
    },
    during: async (attack) => {
      const { folder, free, sleep, process } = attack;
      const token = await tokenOf(join(folder, "ui.txt"), sleep);
      attack.answers = [];
      for (const name of ["..%2foutside", "..%2F..%2F..%2F..%2Fetc", "%2fetc", "..", "%2e%2e%2foutside", "a%00b", "..%5coutside", ".%2f..%2foutside", "x".repeat(5_000)]) {
        for (const [method, path] of [["GET", `/api/runs/${name}`], ["DELETE", `/api/runs/${name}`], ["PATCH", `/api/runs/${name}`], ["GET", `/api/answers/${name}`],
          ["GET", `/api/answers/${name}/runs/${name}`], ["GET", `/api/ramps/${name}`], ["GET", `/api/comparisons/${name}/${name}`], ["GET", `/live/${name}/events`], ["GET", `/${name}`]]) {
          attack.answers.push([method, path, await answered(free, method, path, token)]);
        }
      }
      process.kill("SIGTERM");
    },
    check: ({ attack, folder, files }) => {
      const wrong = attack.answers.find(([, , answer]) => !/^HTTP\/1.1 [345]/.test(answer) || /root:x?:0/.test(answer));
      if (wrong !== undefined) return `${wrong[0]} ${wrong[1].slice(0, 60)} answers ${JSON.stringify(wrong[2].slice(0, 60))}`;
      return existsSync(join(folder, "outside/run.json")) && files.named.victim === "mine" ? undefined : "a file outside of the runs was removed";
    },
  },
];

/** Everything that a participant without a key can do: repeat packets, change them, and send others, bombs among them. */
async function strangers(bus, sleep, run) {
  const socket = connect(bus, "127.0.0.1").on("error", () => {});
  let bytes = Buffer.alloc(0);
  socket.write(`CONNECT {"verbose":false}\r\nSUB loadstone.> 1\r\nPING\r\n`);
  const publish = (subject, body) => socket.destroyed || socket.write(Buffer.concat([Buffer.from(`PUB ${subject} ${body.length}\r\n`), body, Buffer.from("\r\n")]));
  const bomb = deflateSync(Buffer.alloc(60 << 20));
  const onMessage = (subject, body) => {
    publish(subject, body);
    for (const change of [body.length >> 1, 40, body.length - 1]) {
      const changed = Buffer.from(body);
      changed[change] ^= 1;
      publish(subject, changed);
    }
    const begin = body.indexOf("{");
    const end = body.indexOf("\n", begin);
    if (begin < 0 || end < 0) return;
    const header = parsed(body.subarray(begin, end).toString());
    // A packet that this stranger changed.
    if (header === undefined) return;
    for (const kind of [{ bye: { why: "stranger" } }, "claim", "collect", { part: { number: 0, received: 1_000_000, goes_on: false } }]) {
      const head = Buffer.from(`${JSON.stringify({ ...header, kind })}\n`);
      publish(subject, Buffer.concat([body.subarray(0, begin), head, bomb.subarray(0, 200_000)]));
      publish(subject, head);
    }
  };
  let handled = 0;
  socket.on("data", (data) => {
    bytes = Buffer.concat([bytes, data]);
    for (;;) {
      const line = bytes.indexOf("\r\n");
      if (line < 0) return;
      const found = /^MSG (\S+) \S+ (?:\S+ )?(\d+)$/.exec(bytes.subarray(0, line).toString("latin1"));
      const length = found === null ? -2 : Number(found[2]);
      if (bytes.length < line + 4 + length) return;
      const body = bytes.subarray(line + 2, line + 2 + Math.max(length, 0));
      bytes = bytes.subarray(line + 4 + length);
      // The stranger receives its own packets, too.
      if (found !== null && (handled += 1) % 50 === 1) onMessage(found[1], Buffer.from(body));
    }
  });
  while (run.exitCode === null && run.signalCode === null) {
    publish("loadstone.announce", Buffer.from("{}\n"));
    publish("loadstone.announce", amplified(Buffer.from("a")));
    await sleep(100);
  }
  socket.destroy();
}

async function tokenOf(file, sleep) {
  for (;;) {
    const found = existsSync(file) ? /token=([^\s&]+)/.exec(readFileSync(file, "utf8")) : null;
    if (found !== null) return found[1];
    await sleep(100);
  }
}

function answered(port, method, path, token) {
  return new Promise((resolve) => {
    let answer = "";
    const body = `{"note":"x"}`;
    const socket = connect(port, "127.0.0.1", () => socket.write(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nx-loadstone-token: ${token}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on("data", (data) => (answer += data.toString("latin1")).length > 2_000 && socket.destroy());
    socket.on("error", () => {}).on("close", () => resolve(answer));
  });
}
