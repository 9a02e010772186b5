// Servers of the attacks in review-attacks.mjs. servers.mjs passes what its own kinds use.

import { ESCAPES } from "./scripts.mjs";

const int16 = (value) => Buffer.from([value >> 8, value & 255]);
const int32 = (value) => { const bytes = Buffer.alloc(4); bytes.writeUInt32BE(value); return bytes; };

export function reviewKinds({ http, answering, flooding, websocket, h2Frame, postgres }) {
  const settings = [h2Frame(4, 0, 0), h2Frame(4, 1, 0)];
  /** A header of 4,000 bytes enters the table (RFC 7541, section 6.2.1); then each byte repeats it. */
  const hpackBomb = () => {
    const field = Buffer.concat([Buffer.from([0x40, 1, 120, 0x7f, 0x80 | ((4_000 - 127) & 127), (4_000 - 127) >> 7]), Buffer.alloc(4_000, "a")]);
    const head = h2Frame(1, 0, 1, Buffer.concat([Buffer.from([0x88]), field, Buffer.alloc(12_000, 0xbe)]));
    const more = Array.from({ length: 60 }, () => h2Frame(9, 0, 1, Buffer.alloc(16_000, 0xbe)));
    return Buffer.concat([...settings, head, ...more, h2Frame(9, 4, 1, Buffer.from([0xbe]))]);
  };
  const withoutWindow = () => Buffer.concat([h2Frame(4, 0, 0, Buffer.concat([int16(3), int32(0), int16(4), int32(0)])), settings[1]]);
  const resets = () => Buffer.concat([...settings, ...Array.from({ length: 200 }, (_, n) => h2Frame(3, 0, 2 * n + 1, int32(7)))]);
  const columns = () => [
    [postgres("R", int32(0)), postgres("Z", "I")],
    [postgres("1", ""), postgres("2", ""), postgres("T", int16(65_535)), postgres("D", int16(65_535)), postgres("C", "SELECT 1\0"), postgres("Z", "I")],
  ].map(Buffer.concat);
  return {
    "zstd-window": answering(() => http(200, { "content-encoding": "zstd" }, Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (31 - 10) << 3, 1, 0, 0]))),
    "hpack-bomb": (socket) => socket.once("data", () => socket.write(hpackBomb())),
    "h2-no-window": (socket) => socket.once("data", () => socket.write(withoutWindow())),
    "h2-resets": (socket) => socket.on("data", () => socket.write(resets())),
    "slow-bytes": (socket) => socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
      const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write("x")), 100);
    }),
    "unasked-upgrade": flooding(() => "HTTP/1.1 101 S\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", Buffer.from("x")),
    "long-number": answering(() => http(200, {}, `[${"9".repeat(8_000_000)}]`)),
    backtracking: answering(() => http(200, {}, `${"a".repeat(40)}!`)),
    "doubling-redirect": answering((head) => {
      const path = head.split(" ")[1];
      return http(302, { location: (path + path).slice(0, 60_000) }, "");
    }),
    "foreign-cookies": answering((head) => {
      const cookies = ["a=1; Domain=com; Expires=Fri, 31 Dec 999999999 23:59:59 GMT", "b=2; Domain=.0.0.1; Max-Age=99999999999999999999", `c=3; Path=${"/".repeat(3_000)}`];
      const body = /^cookie: (.*)$/im.exec(head)?.[1] ?? "none";
      return `HTTP/1.1 200 OK\r\n${cookies.map((cookie) => `set-cookie: ${cookie}\r\n`).join("")}content-length: ${body.length}\r\n\r\n${body}`;
    }),
    "odd-utf16": answering(() => http(200, { "content-type": "text/html; charset=utf-16be" }, Buffer.alloc(3_000_001, 0xd8))),
    "ws-close-reason": (socket) => socket.once("data", (data) => {
      const reason = Buffer.concat([int16(1008), Buffer.from(ESCAPES).subarray(0, 100)]);
      socket.write(websocket(data.toString("latin1")).replace("\r\n\r\n", `\r\nsec-websocket-protocol: ${"x".repeat(9_000)}\r\n\r\n`));
      socket.write(Buffer.concat([Buffer.from([0x88, reason.length]), reason]));
    }),
    "endless-error": flooding(() => "HTTP/1.1 500 no\r\ncontent-type: text/plain\r\n\r\n", Buffer.from(ESCAPES)),
    "endless-proxy-head": flooding(() => "HTTP/1.1 200 OK\r\n", Buffer.from("x: 1\r\n")),
    "many-columns": (socket) => {
      const [opening, result] = columns();
      socket.once("data", () => { socket.write(opening); socket.once("data", () => socket.write(result)); });
    },
    "changing-names": answering(() => http(200, { "content-type": "text/plain" }, Array.from({ length: 300_000 }, (_, n) => `m${n}_${Math.random().toString(36).slice(2)} 1\n`).join(""))),
  };
}
