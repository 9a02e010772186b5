// Hostile servers, each in its own thread, so that a flood does not slow down the trial. `start(kind)` returns the port and a function that counts requests.

import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

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

/** What terminals and parsers interpret. */
export const ESCAPES = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b]0;title\x07\x9b31m \u202eabc ]]> </script> \ufffe";

let serial = 0;
const KINDS = {
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
  const [kind, argument] = String(workerData).split("=");
  const redirect = answering(() => http(302, { location: `http://localhost:${argument}/away` }, ""));
  const serve = kind === "redirect" ? redirect : KINDS[kind];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket, () => parentPort.postMessage({}));
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage({ port: server.address().port }));
}
