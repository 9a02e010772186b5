// Attacks on the proxy of `loadstone watch --record proxy:…`, by the client and by the target: a row each. See attacks.mjs for the fields.
//
// A row starts its own target, which is raw TCP, since the proxy is to pass on what no HTTP server would send. Wherever the target echoes, the client compares
// every byte.

import { randomBytes } from "node:crypto";
import { connect, createServer } from "node:net";

import { ESCAPES, FAILED, clean } from "./scripts.mjs";

const small = { mib: 300, seconds: 30, exits: [0, ...FAILED] };
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const GET = "GET /orders/7 HTTP/1.1\r\nHost: shop\r\n\r\n";
const FOR_S = 7;

/** `target(socket)` serves a connection of the proxy. `client(attack)` attacks, and returns what is wrong. */
const proxy = (id, target, client, row) => ({
  id: `proxy/${id}`, script: "", limits: small,
  command: (free, bus) => ["watch", "--record", `proxy:${free}=http://127.0.0.1:${bus}`, "--for", `${FOR_S}s`],
  during: async (attack) => {
    const sockets = new Set();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
      target(socket, attack);
    });
    await new Promise((ready) => server.listen(attack.bus, "127.0.0.1", ready));
    await listening(attack);
    attack.wrong = await client(attack);
    await attack.sleep(Math.max(0, FOR_S * 1_000 + 1_500 - (performance.now() - attack.began)));
    sockets.forEach((socket) => socket.destroy());
    server.close();
  },
  check: ({ attack, out }) => attack.wrong ?? clean(out),
  ...row,
});

/** Waits until the proxy accepts. */
async function listening(attack) {
  attack.began = performance.now();
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = await open(attack).catch(() => undefined);
    socket?.destroy();
    if (socket !== undefined) return;
    await attack.sleep(25);
  }
}

function open({ free }) {
  return new Promise((opened, failed) => {
    const socket = connect({ port: free, host: "127.0.0.1", allowHalfOpen: true }, () => opened(socket.on("error", () => {})));
    socket.on("error", failed);
  });
}

/** Sends these bytes in pieces, ends, and returns everything that arrives within some seconds. */
async function exchange(attack, bytes, piece = bytes.length) {
  const socket = await open(attack);
  const received = [];
  const ended = new Promise((end) => socket.on("data", (data) => received.push(data)).on("end", end).on("close", end));
  for (let at = 0; at < bytes.length; at += piece) socket.write(bytes.subarray(at, at + piece));
  socket.end();
  await Promise.race([ended, attack.sleep(4_000)]);
  socket.destroy();
  return Buffer.concat(received);
}

const echo = (socket) => socket.on("data", (data) => socket.write(data)).on("end", () => socket.end());

async function echoes(attack, all, piece) {
  for (const bytes of all.map((one) => Buffer.from(one, "latin1"))) {
    const found = await exchange(attack, bytes, piece);
    if (!found.equals(bytes)) return `${found.length} of ${bytes.length} bytes of ${JSON.stringify(bytes.toString("latin1").slice(0, 60))} came back`;
  }
}

/** Messages that end at two places, depending on who reads them (RFC 9112, 11.2). */
const SMUGGLED = [
  "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /other HTTP/1.1\r\n\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
  "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc",
  "POST / HTTP/1.1\r\nTransfer-Encoding:\tchunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nA: b\r\n Content-Length: 5\r\n\r\nabcde",
  "POST / HTTP/1.1\nContent-Length: 3\n\nabcGET / HTTP/1.1\n\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff1\r\nabc\r\n0\r\n\r\n",
  "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
  "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
  "GET http://other/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
];

/** Opens connections that write the next part of `parts` every 20 ms. */
async function slow(attack, connections, part) {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(attack)));
  for (let turn = 0; turn < 200; turn += 1) {
    sockets.forEach((socket) => socket.destroyed || socket.write(part(turn)));
    await attack.sleep(20);
  }
  const alive = await exchange(attack, Buffer.from(GET));
  sockets.forEach((socket) => socket.destroy());
  return alive.toString() === OK ? undefined : "another client was not served";
}

const answers = (socket) => socket.on("data", () => socket.write(OK)).on("end", () => socket.end());

/** Writes without end, as fast as the other side reads, until the socket is gone or enough was written. */
async function flood(socket, bytes, piece) {
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += piece.length) {
    if (!socket.write(piece)) await Promise.race([new Promise((drained) => socket.once("drain", drained).once("close", drained)), new Promise((end) => setTimeout(end, 3_000))]);
  }
}

const MIB = 1 << 20;

export const PROXY_ATTACKS = [
  proxy("odd-bytes", echo, (attack) => echoes(attack, Array.from({ length: 300 }, (_, size) => randomBytes(size * 7 + 1).toString("latin1")), 97)),
  proxy("smuggling", echo, (attack) => echoes(attack, SMUGGLED)),
  proxy("smuggling-in-pieces", echo, (attack) => echoes(attack, SMUGGLED, 3)),
  proxy("slow-heads", answers, (attack) => slow(attack, 300, (turn) => (turn === 0 ? "GET / HTTP/1.1\r\na: " : "b".repeat(300)))),
  proxy("slow-chunks", answers, (attack) => slow(attack, 300, (turn) => (turn === 0 ? "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" : "1\r\na\r\n"))),
  proxy("endless-head", (socket) => socket.resume(), async (attack) => {
    const socket = await open(attack);
    socket.write("GET / HTTP/1.1\r\na: ");
    await flood(socket, 500 * MIB, Buffer.alloc(MIB, "b"));
    socket.destroy();
  }),
  proxy("endless-response-head", (socket) => socket.once("data", () => {
    socket.write("HTTP/1.1 200 OK\r\na: ");
    flood(socket, 500 * MIB, Buffer.alloc(MIB, "b"));
  }), async (attack) => {
    const socket = await open(attack);
    socket.resume().write(GET);
    await attack.sleep(3_000);
    socket.destroy();
  }),
  proxy("many-small-chunks", (socket) => socket.once("data", () => {
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    flood(socket, 100 * MIB, Buffer.from("1;x\r\na\r\n".repeat(MIB / 8)));
  }), async (attack) => {
    const socket = await open(attack);
    socket.resume().write(GET);
    await attack.sleep(3_000);
    socket.destroy();
  }),
  // Nobody reads: the other side has to wait.
  proxy("unread-response", (socket) => socket.once("data", () => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1 << 30}\r\n\r\n`);
    flood(socket, 1 << 30, Buffer.alloc(MIB));
  }), async (attack) => {
    const sockets = await Promise.all(Array.from({ length: 40 }, () => open(attack)));
    sockets.forEach((socket) => socket.pause().write(GET));
    await attack.sleep(4_000);
    sockets.forEach((socket) => socket.destroy());
  }),
  proxy("unread-requests", (socket) => socket.pause(), async (attack) => {
    const sockets = await Promise.all(Array.from({ length: 40 }, () => open(attack)));
    await Promise.all(sockets.map((socket) => flood(socket, 20 * MIB, Buffer.from(GET.repeat(20_000)))));
    sockets.forEach((socket) => socket.destroy());
  }),
  proxy("long-names", (socket) => socket.on("data", (data) => socket.write(OK.repeat(data.toString("latin1").split("\r\n\r\n").length - 1))), async (attack) => {
    const socket = (await open(attack)).resume();
    for (let turn = 0; turn < 3_000 && !socket.destroyed; turn += 1) {
      socket.write(`GET /${`a${turn.toString(36).replace(/\d/g, "z")}/`.repeat(2_000)} HTTP/1.1\r\n\r\n`);
      if (turn % 20 === 0) await attack.sleep(20);
    }
    socket.destroy();
  }),
  proxy("escapes", echo, (attack) => echoes(attack, [`GET /${ESCAPES} HTTP/1.1\r\n\r\n`, `GET /%1b%5d0;x HTTP/1.1\r\n${ESCAPES}: b\r\n\r\n`, ESCAPES])),
  proxy("many-connections", answers, async (attack) => {
    const sockets = [];
    for (let opened = 0; opened < 4_000; opened += 200) sockets.push(...(await Promise.all(Array.from({ length: 200 }, () => open(attack).catch(() => undefined)))));
    sockets.forEach((socket) => socket?.write("GET / HTTP/1.1\r\n"));
    const alive = await exchange(attack, Buffer.from(GET));
    sockets.forEach((socket) => socket?.destroy());
    return alive.toString() === OK ? undefined : "another client was not served";
  }),
  proxy("half-closed", (socket) => socket.on("data", () => {}).on("end", () => socket.end(OK)), async (attack) => {
    for (let turn = 0; turn < 50; turn += 1) {
      if ((await exchange(attack, Buffer.from(GET))).toString() !== OK) return "a client that only ended its side got no response";
    }
  }, { check: ({ attack, summary }) => attack.wrong ?? (summary?.totals.requests === 50 && summary.totals.requests_failed === 0 ? undefined : `${summary?.totals.requests_failed} of ${summary?.totals.requests} requests failed`) }),
  proxy("vanishing-target", (socket) => socket.on("data", () => (Math.random() < 0.5 ? socket.resetAndDestroy() : socket.write("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nhalf", () => socket.destroy()))), async (attack) => {
    for (let turn = 0; turn < 200; turn += 1) await exchange(attack, Buffer.from(GET));
  }, { check: ({ summary }) => (summary?.totals.requests_failed === 200 ? undefined : `${summary?.totals.requests_failed} of 200 requests failed`) }),
  proxy("early-response", (socket) => socket.once("data", () => socket.end("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")), async (attack) => {
    const upload = Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nContent-Length: ${200 * MIB}\r\n\r\n`), Buffer.alloc(MIB)]);
    for (let turn = 0; turn < 20; turn += 1) {
      const found = await exchange(attack, upload);
      if (!found.toString().startsWith("HTTP/1.1 413")) return "the response did not arrive";
    }
  }),
];
