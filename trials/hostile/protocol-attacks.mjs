// Further attacks by targets and observed services, a row each: see attacks.mjs for the fields.

import { forThreeSeconds, observed, once, FAILED, SECRETS, spell } from "./scripts.mjs";

const get = `const r = await user.get("/", { name: "R" });`;
const small = { mib: 300, seconds: 30, exits: [0, ...FAILED] };
// A body is kept up to 64 MiB, and copied once for the script.
const body = { mib: 450, seconds: 40, exits: [0, ...FAILED] };

export const PROTOCOL_ATTACKS = [
  { id: "bomb/gzip", server: "bomb=gzip", script: once(`${get} r.text.length;`), limits: body },
  { id: "bomb/brotli", server: "bomb=br", script: once(`${get} r.text.length;`), limits: body },
  { id: "bomb/zstd", server: "bomb=zstd", script: once(`${get} r.text.length;`), limits: body },
  { id: "bomb/deflate", server: "bomb=deflate", script: once(`${get} r.text.length;`), limits: body },
  { id: "bomb/gzip-members", server: "gzip-members", script: forThreeSeconds(get), limits: small },
  { id: "bomb/gzip-of-gzip", server: "gzip-of-gzip", script: once(`${get} r.text.length;`), limits: body },
  { id: "bomb/ws-deflate", server: "ws-bomb", script: once(`const w = await user.ws("/", { name: "open", compression: true }); await w.receive({ name: "recv", within: "3s" });`), limits: { ...body, exits: [0, ...FAILED] } },

  { id: "http/endless-head", server: "http-endless=x: 1\r\n", script: forThreeSeconds(get), limits: small },
  { id: "http/endless-header-line", server: "http-endless=x", script: forThreeSeconds(get), limits: small },
  { id: "http/endless-early-hints", server: "early-hints", script: forThreeSeconds(get), limits: small },
  { id: "http/endless-chunk-extension", server: "chunks=1;", script: forThreeSeconds(get), limits: small },
  { id: "http/endless-tiny-chunks", server: "chunks=1\r\na\r\n", script: forThreeSeconds(get), limits: { ...small, mib: 450 } },
  { id: "http/endless-trailers", server: "chunks=0\r\nx: 1\r\n", script: forThreeSeconds(get), limits: small },
  { id: "http/huge-length", server: "head=content-length: 18446744073709551615", script: once(get), limits: small },
  { id: "http/negative-length", server: "head=content-length: -1", script: once(get), limits: small },
  { id: "http/two-lengths", server: "head=content-length: 2\r\ncontent-length: 3", script: once(get), limits: small },
  { id: "http/huge-chunk", server: "chunks=ffffffffffffffff\r\n", script: forThreeSeconds(get), limits: small },
  { id: "http/many-cookies", server: "many-cookies", script: forThreeSeconds(get), limits: small },
  { id: "http/redirect-to-file", server: "location=file:///etc/passwd", script: once(`${get} console.log(r.text);`), limits: small, check: ({ files, out }) => (/root:x?:0/.test(files.text + out) ? "reads a file" : undefined) },
  { id: "http/redirect-loop", server: "location=/", script: once(get), limits: small },
  { id: "http/retry-after", server: "retry-after", script: once(`await user.get("/", { name: "R", retry: { times: 2 } });`), limits: { ...small, exits: [0, ...FAILED] } },
  { id: "http2/settings", server: "h2=settings", script: http2(), limits: small },
  { id: "http2/pings", server: "h2=pings", script: http2(), limits: small },
  { id: "http2/continuations", server: "h2=continuations", script: http2(), limits: small },

  { id: "sse/endless-line", server: "sse-line", script: forThreeSeconds(`const e = await user.events("/", { name: "open" }); await e.receive({ name: "recv", within: "2s" });`), limits: { ...small, mib: 450 } },
  { id: "ws/huge-frame", server: "ws-huge", script: once(`const w = await user.ws("/", { name: "open" }); await w.receive({ name: "recv", within: "2s" });`), limits: small },
  { id: "redis/nested", server: "redis-nested", script: once(`await user.redis("redis://127.0.0.1:" + port).command("PING");`), limits: { ...small, exits: [0, ...FAILED, 5] } },
  { id: "redis/nested-pushes", server: "redis-nested-pushes", script: once(`await user.redis("redis://127.0.0.1:" + port).command("PING");`), limits: { ...small, exits: [0, ...FAILED, 5] } },
  { id: "postgres/notices", server: "postgres-notices", script: forThreeSeconds(`await user.sql("postgres://a:b@127.0.0.1:" + port + "/x").query("select 1");`), limits: { ...small, exits: [0, ...FAILED, 5] } },
  { id: "mysql/huge-packet", server: "mysql-huge", script: forThreeSeconds(`await user.sql("mysql://a:b@127.0.0.1:" + port + "/x").query("select 1");`), limits: { ...small, exits: [0, ...FAILED, 5] } },
  { id: "kafka/huge-answer", server: "kafka-huge", script: once(`await user.kafka("kafka://127.0.0.1:" + port).produce("t", { value: "x" });`), limits: { ...small, exits: [0, ...FAILED, 5] } },
  {
    id: "kafka/other-brokers", server: (second) => `kafka-brokers=${second}`, secondServer: "counting", limits: { ...small, exits: [0, ...FAILED, 5] },
    script: once(`await user.kafka("kafka://ann:hush@127.0.0.1:" + port).produce("t", { value: "x" });`),
    check: ({ second }) => (second.requests() > 0 ? "another host received a connection" : undefined),
  },

  { id: "observe/endless-exposition", server: "http-chunks=x 1\n", script: observed(`observe.prometheus("http://127.0.0.1:" + port + "/metrics")`), limits: { mib: 400, seconds: 40, exits: [0, 4] } },
  {
    id: "observe/numbers", server: "numbers", script: observed(`observe.prometheus("http://127.0.0.1:" + port + "/metrics")`), limits: { mib: 400, seconds: 40, exits: [0, 4] },
    check: ({ summary }) => (summary === null ? "no summary" : undefined),
  },
  {
    id: "observe/markup", server: "markup", script: observed(`observe.prometheus("http://127.0.0.1:" + port + "/metrics")`), limits: { mib: 400, seconds: 40, exits: [0, 4] },
    check: ({ files }) => (/<img src=x|<\/script><script>alert/.test(files.named["report.html"] ?? "missing <img src=x") ? "the report contains markup of the target" : undefined),
  },
  {
    id: "secrets/of-responses", server: "login", limits: { mib: 300, seconds: 20, exits: [0, ...FAILED] },
    script: once(`await user.post("/login", { name: "json", json: { user: "ann", password: "${SECRETS[5]}" } });
  await user.post("/login", { name: "form", form: { user: "ann", password: "${SECRETS[6]}" } });
  const r = await user.get("/login", { name: "set" });
  console.log(r.text, r.headers["set-cookie"], r.json("$.access_token"));
  await user.get("/echo/" + r.json("$.access_token"), { name: "echo" });
  throw new Error("token " + r.json("$.access_token"));`),
    check: ({ out, files }) => {
      const shown = [...SECRETS.slice(5)].filter((secret) => spell(secret).some((text) => out.includes(text) || files.text.includes(text)));
      return shown.length > 0 ? `shows ${shown.join(", ")}` : undefined;
    },
  },
];

function http2() {
  return once(get).replace("options: {", `options: { http2: "only",`);
}
