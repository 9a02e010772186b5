// Hostile DNS servers (RFC 1035, section 4). `startDns(kind)` returns the port and a function that stops the server.

import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";

import { damaged } from "./damage.mjs";

const LOOPBACK = Buffer.from([127, 0, 0, 1]);
const u16 = (...numbers) => Buffer.concat(numbers.map((number) => Buffer.from([number >> 8, number & 255])));
/** The name at this offset, a type, the class IN, a time to live, and the data. */
const record = (offset, type, data) => Buffer.concat([u16(0xc000 | offset, type, 1, 0, 5, data.length), data]);
const address = (data) => record(12, 1, data);
/** An answer to a question, with these records. */
const answer = (query, records, counts = [1, records.length, 0, 0]) => Buffer.concat([query.subarray(0, 2), u16(0x8180, ...counts), question(query), ...records]);
const question = (query) => query.subarray(12, query.indexOf(0, 12) + 5);

/** A record that the changes turned into an address, which could be that of another host: a type, the class IN, a time to live, and a length. */
const ADDRESS = /\0[\x01\x1c]\0\x01.{4}\0[\x04\x10]/s;

const ANSWERS = {
  random: (query) => Buffer.concat([query.subarray(0, 2), randomBytes(500)]),
  pointer: (query) => Buffer.concat([query.subarray(0, 2), u16(0x8180, 1, 1, 0, 0, 0xc00c, 1, 1), address(LOOPBACK)]),
  alias: (query) => answer(query, [record(12, 5, u16(0xc00c))]),
  many: (query) => answer(query, Array.from({ length: 2_000 }, () => address(LOOPBACK))),
  counts: (query) => answer(query, [], [0xffff, 0xffff, 0xffff, 0xffff]),
  other: (query) => Buffer.concat([query.subarray(0, 2), u16(0x8180, 1, 1, 0, 0), Buffer.from("\x04evil\x04test\0\0\x01\0\x01", "latin1"), address(LOOPBACK)]),
  silent: () => undefined,
  damaged: (query, number) => {
    const valid = answer(query, [record(12, 5, u16(0xc00c)), record(12, 16, Buffer.from("\x04text")), record(12, 6, Buffer.alloc(24))]);
    // The first bytes, the query's number, stay as they are: other answers are ignored before they are parsed.
    const bytes = Buffer.concat([query.subarray(0, 2), damaged([valid.subarray(2)], 1, number)[0]]).subarray(0, 8_000);
    return ADDRESS.test(bytes.toString("latin1")) ? undefined : bytes;
  },
};

export function startDns(kind) {
  return new Promise((started) => {
    const socket = createSocket("udp4");
    let queries = 0;
    socket.on("message", (query, { port }) => {
      const bytes = ANSWERS[kind](query, (queries += 1));
      if (bytes !== undefined) socket.send(bytes, port, "127.0.0.1");
    });
    socket.bind(0, "127.0.0.1", () => started({ port: socket.address().port, queries: () => queries, stop: () => socket.close() }));
  });
}
