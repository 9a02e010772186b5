// Hostile servers, each in its own thread, so that a flood does not slow down the trial. `start(kind)` returns the port and a function that counts requests.

import { createHash } from "node:crypto";
import { createServer as createHttp2Server } from "node:http2";
import { createServer } from "node:net";
import * as zlib from "node:zlib";
import { gzipSync } from "node:zlib";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

import { reviewKinds } from "./review-servers.mjs";
import { ESCAPES } from "./scripts.mjs";

/** Starts a server in a thread. Resolves to `{ port, requests(), stop() }`. */
export function start(kind) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: kind });
    let requests = 0;
    worker.on("error", reject);
    worker.on("message", (message) => {
      if (message.port === undefined) requests += 1;
      else resolve({ port: message.port, requests: () => requests, stop: () => worker.terminate() });
    });
  });
}

/** 60 MiB of one small message, compressed to less than 100 KB. */
export function amplified(unit) {
  return gzipSync(Buffer.alloc(60 << 20, unit), { level: 9 });
}

const http = (status, headers, body) => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const lines = Object.entries({ ...headers, "content-length": bytes.length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join("")}\r\n`), bytes]);
};

/** Answers each request head with `answer(head)`. */
const answering = (answer) => (socket, note) => {
  let text = "";
  socket.on("data", (data) => {
    text += data.toString("latin1");
    for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
      const head = text.slice(0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      text = text.slice(end + 4 + length);
      note();
      const bytes = answer(head);
      if (bytes !== undefined) socket.write(bytes);
    }
  });
};

/** After the client's first bytes: a head, then one piece for ever. */
const flooding = (head, piece) => (socket, note) => {
  const pieces = Buffer.alloc(1 << 20, piece).subarray(0, Math.floor((1 << 20) / piece.length) * piece.length);
  const push = () => {
    while (!socket.destroyed && socket.write(pieces));
    socket.once("drain", push);
  };
  socket.once("data", (data) => {
    note();
    socket.write(head(data.toString("latin1")));
    push();
  });
};

const websocket = (request) => {
  const key = /sec-websocket-key: (\S+)/i.exec(request)[1];
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return `HTTP/1.1 101 S\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`;
};
const events = () => "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const postgres = (kind, body) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, Buffer.from(body)]);
};

const chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
/** A frame of Zstandard with blocks of one repeated byte (RFC 8878, section 3.1.1.2): 128 KiB in four bytes. */
const zstdRepeated = (blocks) => {
  const block = Buffer.from([...[0, 8, 16].map((shift) => ((((128 << 10) << 3) | 2) >> shift) & 255), 0]);
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]), Buffer.alloc(4 * blocks, block), Buffer.from([1, 0, 0])]);
};
/** 256 MiB of zeros, compressed. */
const bomb = (coding) => {
  if (coding === "zstd") return zstdRepeated(2_048);
  const zeros = Buffer.alloc(256 << 20);
  const pack = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }) };
  return pack[coding](zeros);
};
/** A frame of HTTP/2: type, flags, stream and content (RFC 9113, section 4.1). */
const h2Frame = (type, flags, stream, content = Buffer.alloc(0)) => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
};
const H2_FLOODS = {
  settings: h2Frame(4, 0, 0),
  pings: h2Frame(6, 0, 0, Buffer.alloc(8)),
  continuations: h2Frame(9, 0, 1, Buffer.from([0, 1, 120, 1, 49])),
};
const kafkaAnswer = (bytes) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
/** A metadata response (version 4) that names another host as the only broker. */
const kafkaBrokers = (host, port) => (request) => {
  const int = (value) => { const bytes = Buffer.alloc(4); bytes.writeInt32BE(value); return bytes; };
  const text = (value) => { const length = Buffer.alloc(2); length.writeInt16BE(value.length); return Buffer.concat([length, Buffer.from(value)]); };
  const [key, correlation] = [request.readInt16BE(4), request.subarray(8, 12)];
  if (key === 17) return kafkaAnswer(Buffer.concat([correlation, Buffer.from([0, 0]), int(1), text("PLAIN")]));
  if (key === 36) return kafkaAnswer(Buffer.concat([correlation, Buffer.from([0, 0]), text(""), int(0)]));
  const topic = Buffer.concat([Buffer.from([0, 0]), text("t"), Buffer.from([0]), int(1), Buffer.from([0, 0]), int(0), int(1), int(0), int(0)]);
  return kafkaAnswer(Buffer.concat([correlation, int(0), int(1), int(1), text(host), int(port), text("r"), text("c"), int(1), int(1), topic]));
};

/** A message of a gRPC response: whether it is compressed, its length, its bytes. */
const grpcMessage = (bytes, { compressed = 0, length = bytes.length } = {}) => {
  const prefix = Buffer.from([compressed, 0, 0, 0, 0]);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
};
/** A message with itself in its field 2, this many times. */
const nestedMessage = (times) => {
  let bytes = Buffer.alloc(0);
  for (let level = 0; level < times; level += 1) {
    const length = [];
    for (let rest = bytes.length; length.length === 0 || rest > 0; rest >>= 7) length.push((rest & 127) | (rest > 127 ? 128 : 0));
    bytes = Buffer.concat([Buffer.from([0x12, ...length]), bytes]);
  }
  return bytes;
};
/** What a gRPC server sends after its headers, and its trailers. */
const GRPC = {
  bomb: () => ({ body: grpcMessage(gzipSync(Buffer.alloc(256 << 20)), { compressed: 1 }), encoding: "gzip" }),
  length: () => ({ body: grpcMessage(Buffer.alloc(1_000), { length: 0xffffffff }) }),
  nested: () => ({ body: grpcMessage(nestedMessage(20_000)) }),
  status: () => ({ trailers: { "grpc-status": "99999999999999999999" } }),
  message: () => ({ trailers: { "grpc-status": "13", "grpc-message": `%1B]52;c;ZXZpbA==%07%1B[31m%E2%80%AE<img src=x onerror=alert(1)>${"a".repeat(3_000)}` } }),
  headers: () => ({ trailers: { "grpc-status": "0", ...Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`x-${n}`, "y".repeat(20)])) } }),
  none: () => ({ trailers: {} }),
};
const grpcServer = (kind, note) => {
  const { body, encoding, trailers = { "grpc-status": "0" } } = GRPC[kind]();
  const server = createHttp2Server();
  server.on("sessionError", () => {});
  server.on("stream", (stream) => {
    note();
    stream.on("error", () => {});
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...(encoding && { "grpc-encoding": encoding }) }, { waitForTrailers: true });
    stream.end(body);
  });
  return server;
};

/** Kinds with an argument: `kind=argument`. */
const WITH_ARGUMENT = {
  grpc: (kind) => {
    let server;
    return (socket, note) => (server ??= grpcServer(kind, note)).emit("connection", socket);
  },
  redirect: (port) => answering(() => http(302, { location: `http://localhost:${port}/away` }, "")),
  location: (location) => answering(() => http(302, { location }, "")),
  head: (line) => answering(() => `HTTP/1.1 200 OK\r\n${line}\r\n\r\nhello`),
  bomb: (coding) => { const packed = bomb(coding); return answering(() => http(200, { "content-encoding": coding }, packed)); },
  "http-endless": (piece) => flooding(() => "HTTP/1.1 200 OK\r\n", Buffer.from(piece)),
  chunks: (piece) => flooding(() => chunked, Buffer.from(piece)),
  "http-chunks": (line) => flooding(() => chunked, Buffer.from(`${(line.length * 1_000).toString(16)}\r\n${line.repeat(1_000)}\r\n`)),
  h2: (kind) => flooding(() => Buffer.concat([h2Frame(4, 0, 0), ...(kind === "continuations" ? [h2Frame(1, 0, 1)] : [])]), H2_FLOODS[kind]),
  "kafka-brokers": (port) => {
    const answer = kafkaBrokers("localhost", Number(port));
    return (socket, note) => socket.on("data", (data) => { note(); socket.write(answer(data)); });
  },
};

let serial = 0;
const KINDS = {
  ...reviewKinds({ http, answering, flooding, websocket, h2Frame, postgres }),
  counting: (_, note) => note(),
  "gzip-members": flooding(() => "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", gzipSync(Buffer.alloc(0))),
  "gzip-of-gzip": answering(() => http(200, { "content-encoding": "gzip, ".repeat(40) + "gzip" }, Array.from({ length: 41 }).reduce((bytes) => gzipSync(bytes), Buffer.alloc(1 << 20)))),
  "early-hints": flooding(() => "", Buffer.from("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")),
  "many-cookies": answering(() => `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n${Array.from({ length: 1_000 }, (_, n) => `set-cookie: c${(serial += 1)}=${"v".repeat(10)}${n}\r\n`).join("")}\r\nok`),
  "retry-after": answering(() => http(503, { "retry-after": "9".repeat(40) }, "")),
  "sse-line": flooding(() => `${events()}data: `, Buffer.from("x")),
  "ws-huge": flooding((request) => Buffer.concat([Buffer.from(websocket(request)), Buffer.from([0x82, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255])]), Buffer.from("x")),
  "ws-bomb": (socket) => socket.once("data", (data) => {
    const packed = zlib.deflateRawSync(Buffer.alloc(256 << 20));
    const head = Buffer.from([0xc2, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(packed.length, 6);
    socket.write(websocket(data.toString("latin1")).replace("\r\n\r\n", "\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n"));
    socket.write(Buffer.concat([head, packed]));
  }),
  "redis-nested": flooding(() => "", Buffer.from("*1\r\n")),
  "postgres-notices": flooding(() => "", postgres("N", "SNOTICE\0C00000\0Mhello\0\0")),
  "mysql-huge": (socket) => { const push = () => { while (!socket.destroyed && socket.write(Buffer.alloc(1 << 20, 255))); socket.once("drain", push); }; push(); },
  "kafka-huge": flooding(() => Buffer.from([0x7f, 255, 255, 255]), Buffer.from("x")),
  numbers: answering(() => http(200, { "content-type": "text/plain" }, ["NaN", "+Inf", "-Inf", "1e999", "-1e308", "1e308", "18446744073709551616"].map((value, n) => `# TYPE a${n} counter\na${n} ${value}\n`).join(""))),
  markup: answering(() => http(200, { "content-type": "text/plain" }, `http_requests_total{path="<img src=x onerror=alert(1)></script><script>alert(1)</script>"} ${(serial += 1)}\n`)),
  login: answering((head) => http(401, { "content-type": "application/json", "set-cookie": "sid=SETCOOKIE92; Path=/" }, JSON.stringify({ head, cookie: "SETCOOKIE92", access_token: "BODYTOKEN93", sent: ["JSONPASSWORD90", "FORMPASSWORD91"] }))),
  ok: answering(() => http(200, {}, "ok")),
  failing: answering(() => http(500, {}, "no")),
  silent: answering(() => undefined),
  "xml-nested": answering(() => http(200, { "content-type": "text/xml" }, "<a>".repeat(20_000) + "</a>".repeat(20_000))),
  "html-nested": answering(() => http(200, { "content-type": "text/html" }, "<div>".repeat(200_000))),
  "html-attributes": answering(() => http(200, { "content-type": "text/html" }, `<div ${Array.from({ length: 200_000 }, (_, n) => `a${n}=1`).join(" ")}>`)),
  "json-nested": answering(() => http(200, {}, "[".repeat(200_000) + "]".repeat(200_000))),
  "ws-pings": flooding(websocket, Buffer.from([0x89, 0])),
  "ws-empty-frames": flooding((request) => Buffer.concat([Buffer.from(websocket(request)), Buffer.from([1, 0])]), Buffer.from([0, 0])),
  "sse-ids": flooding(events, Buffer.from("id: 1\n")),
  "sse-comments": flooding(events, Buffer.from(":\n")),
  "postgres-parameters": flooding(() => "", postgres("S", "a\0b\0")),
  "postgres-length": flooding(() => Buffer.from("N\x7f\xff\xff\xff", "latin1"), Buffer.from("x")),
  "redis-bulk": flooding(() => "$9223372036854775807\r\n", Buffer.from("x")),
  "redis-nested-pushes": flooding(() => "", Buffer.from(">2\r\n$7\r\nmessage\r\n".repeat(1_000))),
  "redis-pushes": flooding(() => "", Buffer.from(">1\r\n+x\r\n")),
  pprof: answering(() => http(200, {}, amplified(Buffer.from([0x12, 0])))),
  "unique-pages": answering(() => http(500, {}, `<html>request id ${(serial += 1)} `.padEnd(1_000_000, "x"))),
  echo: answering((head) => http(500, { "content-type": "application/json" }, JSON.stringify({ head, login: login(head) }))),
  escapes: answering(() => http(500, {}, ESCAPES)),
};

function login(head) {
  const encoded = /authorization: basic (\S+)/i.exec(head)?.[1];
  return encoded === undefined ? "" : Buffer.from(encoded, "base64").toString();
}

if (!isMainThread) {
  const [, kind, argument] = /^([^=]*)(?:=(.*))?$/s.exec(workerData);
  const serve = argument === undefined ? KINDS[kind] : WITH_ARGUMENT[kind](argument);
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket, () => parentPort.postMessage({}));
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage({ port: server.address().port }));
}
