// The table of odd responses. A row has an id, the bytes that the server answers with, and the method of the request (default: GET).
//
// After each, the same client requests `/after` from the same origin: bytes that an answer leaves behind, and connections that must not be used again, show
// there. `hangs` marks those that only a time limit ends. `decoded` rows let the client undo content encodings. `text` and `json` are what a script must
// read, written by hand from the standards.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

import { CLOSE, OK, RESET } from "./server.mjs";

const row = (id, raw, more = {}) => ({ id: `response-${id}`, method: "GET", answers: [raw, OK], ...more });
/** A whole response with a body of known length. */
const ok = (headers = "", body = "ok") => Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`), Buffer.from(body)]);
const start = (line) => `${line}\r\nContent-Length: 2\r\n\r\nok`;
const latin1 = (text) => Buffer.from(text, "latin1");
const bytes = (...parts) => Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
const chunked = (body, headers = "") => bytes(`HTTP/1.1 200 OK\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`, body);
const untilClose = (...parts) => [bytes(...parts), CLOSE];

const statusLines = [
  row("status/plain", start("HTTP/1.1 200 OK")), row("status/no-reason", start("HTTP/1.1 200 ")), row("status/no-reason-no-space", start("HTTP/1.1 200")),
  row("status/long-reason", start(`HTTP/1.1 200 ${"x".repeat(2000)}`)), row("status/unicode-reason", start("HTTP/1.1 200 Größe")),
  row("status/latin-1-reason", latin1(start("HTTP/1.1 200 Größe"))), row("status/several-spaces", start("HTTP/1.1  200  OK")),
  row("status/tab", start("HTTP/1.1\t200\tOK")),
  row("status/lower-case", start("http/1.1 200 OK")), row("status/http-1.0", [start("HTTP/1.0 200 OK"), CLOSE]),
  row("status/http-1.2", start("HTTP/1.2 200 OK")),
  row("status/http-2.0", start("HTTP/2.0 200 OK")), row("status/http-0.9", untilClose("hello")), row("status/icy", start("ICY 200 OK")),
  row("status/two-digits", start("HTTP/1.1 20 OK")), row("status/four-digits", start("HTTP/1.1 2000 OK")), row("status/letters", start("HTTP/1.1 abc OK")),
  row("status/zero", start("HTTP/1.1 000 OK")), row("status/negative", start("HTTP/1.1 -20 OK")), row("status/299", start("HTTP/1.1 299 x")),
  row("status/418", start("HTTP/1.1 418 I'm a teapot")), row("status/599", start("HTTP/1.1 599 x")), row("status/600", start("HTTP/1.1 600 x")),
  row("status/999", start("HTTP/1.1 999 x")),
  row("status/empty-line-before", `\r\n${start("HTTP/1.1 200 OK")}`), row("status/garbage-before", `xyz${start("HTTP/1.1 200 OK")}`),
  row("status/nothing", [CLOSE, CLOSE, CLOSE]),
  row("status/reset", [RESET, RESET, RESET]), row("status/bare-line-feeds", "HTTP/1.1 200 OK\nContent-Length: 2\nX-A: b\n\nok"),
  row("status/mixed-line-ends", "HTTP/1.1 200 OK\r\nContent-Length: 2\nX-A: b\r\n\r\nok"),
  row("status/bare-carriage-returns", untilClose("HTTP/1.1 200 OK\rContent-Length: 2\r\rok")),
];
const one100 = "HTTP/1.1 100 Continue\r\n\r\n";
const informational = [
  row("1xx/100", one100 + start("HTTP/1.1 200 OK")), row("1xx/100-twice", one100 + one100 + start("HTTP/1.1 200 OK")),
  row("1xx/102", `HTTP/1.1 102 Processing\r\n\r\n${start("HTTP/1.1 200 OK")}`),
  row("1xx/103-with-headers", `HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nX-Early: 1\r\n\r\n${start("HTTP/1.1 200 OK")}`),
  row("1xx/199", `HTTP/1.1 199 x\r\n\r\n${start("HTTP/1.1 200 OK")}`), row("1xx/many", one100.repeat(20) + start("HTTP/1.1 200 OK")),
  row("1xx/100-with-length", `HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${start("HTTP/1.1 200 OK")}`),
  row("1xx/101-unasked", ["HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n", CLOSE]),
  row("1xx/100-only", [one100, CLOSE]), row("1xx/100-of-head", one100 + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", { method: "HEAD" }),
];
const noBody = [
  row("no-body/204", "HTTP/1.1 204 No Content\r\n\r\n"), row("no-body/204-length-0", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
  row("no-body/204-with-length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
  row("no-body/204-with-body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
  row("no-body/204-chunked", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"),
  row("no-body/205", "HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n"),
  row("no-body/205-with-body", "HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello"), row("no-body/304", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
  row("no-body/304-with-length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"),
  row("no-body/304-with-body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
  row("no-body/head", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", { method: "HEAD" }),
  row("no-body/head-chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", { method: "HEAD" }),
  row("no-body/head-without-length", "HTTP/1.1 200 OK\r\n\r\n", { method: "HEAD" }),
  row("no-body/head-with-body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", { method: "HEAD" }),
  row("no-body/head-gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n", { method: "HEAD", decoded: true }),
  row("no-body/200-length-0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
  row("no-body/204-gzip", "HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n", { decoded: true }),
];
const headers = [
  row("header/folded", ok("X-A: one\r\n two\r\n")), row("header/folded-tab", ok("X-A: one\r\n\ttwo\r\n")),
  row("header/folded-thrice", ok("X-A: one\r\n  two\r\n   three\r\n")),
  row("header/folded-empty-first", ok("X-A:\r\n one\r\n")), row("header/folded-blank-line", ok("X-A: one\r\n \r\n")),
  row("header/folded-first", `HTTP/1.1 200 OK\r\n X-A: one\r\nContent-Length: 2\r\n\r\nok`),
  row("header/many", ok(Array.from({ length: 300 }, (_, i) => `x-${i}: ${i}\r\n`).join(""))),
  row("header/many-short", ok(Array.from({ length: 1500 }, (_, i) => `y${i}: 1\r\n`).join(""))),
  row("header/repeated", ok("X-A: 1\r\nX-B: 2\r\nx-a: 3\r\n")), row("header/empty", ok("X-A:\r\n")), row("header/empty-spaces", ok("X-A:   \r\n")),
  row("header/no-space", ok("X-A:b\r\n")),
  row("header/spaces-around", ok("X-A:   b  \r\n")), row("header/tabs-around", ok("X-A:\tb\t\r\n")), row("header/inner-spaces", ok("X-A: b  c\r\n")),
  row("header/space-before-colon", ok("X-A : b\r\n")),
  row("header/space-in-name", ok("X A: b\r\n")), row("header/no-colon", ok("X-A\r\n")), row("header/empty-name", ok(": b\r\n")),
  row("header/colon-in-value", ok("X-A: b:c\r\n")),
  row("header/utf-8-value", ok("X-A: ä日😀\r\n")), row("header/latin-1-value", bytes("HTTP/1.1 200 OK\r\nX-A: ", latin1("é"), "\r\nContent-Length: 2\r\n\r\nok")),
  row("header/utf-8-name", ok("X-Ä: b\r\n")),
  row("header/nul-in-value", ok("X-A: b\0c\r\n")), row("header/control-in-value", ok("X-A: b\u0001c\r\n")),
  row("header/delete-in-value", ok("X-A: b\u007fc\r\n")), row("header/carriage-return-in-value", ok("X-A: b\rc\r\n")),
  row("header/nul-in-name", ok("X\0A: b\r\n")), row("header/punctuation-name", ok("X!#$%&'*+.^_`|~: b\r\n")),
  row("header/long-value", ok(`X-A: ${"b".repeat(12000)}\r\n`)), row("header/very-long-value", ok(`X-A: ${"b".repeat(100000)}\r\n`)),
  row("header/long-name", ok(`X-${"a".repeat(500)}: b\r\n`)), row("header/upper-case", ok("X-UPPER: b\r\n")),
  row("header/proto-name", ok("__proto__: b\r\nconstructor: c\r\n")), row("header/quoted", ok("X-A: \"b\\\"c\"\r\n")),
  row("header/set-cookies", ok("Set-Cookie: a=1\r\nSet-Cookie: b=2; Expires=Fri, 01 Jan 2038 00:00:00 GMT\r\n")),
  row("header/location-of-200", ok("Location: /b\r\n")), row("header/location-of-201", start("HTTP/1.1 201 Created\r\nLocation: /b")),
  row("header/split-in-packets", ["HTTP/1.1 2", 30, "00 OK\r", 30, "\nContent-Le", 30, "ngth: 2\r\n\r", 30, "\no", 30, "k"]),
  row("header/retry-after", start("HTTP/1.1 503 Busy\r\nRetry-After: 1")),
  row("header/no-headers", untilClose("HTTP/1.1 200 OK\r\n\r\nhello")),
];
const lengths = [
  row("length/too-long", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")),
  row("length/too-long-then-reset", ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", 50, RESET]),
  row("length/too-short", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello"),
  row("length/too-short-then-close", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello")),
  row("length/twice-equal", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
  row("length/twice-different", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk")),
  row("length/list-equal", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"),
  row("length/list-different", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nokk")),
  row("length/negative", untilClose("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok")),
  row("length/plus", untilClose("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok")),
  row("length/hexadecimal", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok")),
  row("length/letters", untilClose("HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nok")),
  row("length/empty", untilClose("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok")),
  row("length/leading-zeros", "HTTP/1.1 200 OK\r\nContent-Length: 0002\r\n\r\nok"),
  row("length/overflow", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok")),
  row("length/huge", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\nok")),
  row("length/and-chunked", bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
  row("length/none-until-close", untilClose("HTTP/1.1 200 OK\r\n\r\nhello")), row("length/none-until-reset", ["HTTP/1.1 200 OK\r\n\r\nhello", 50, RESET]),
  row("length/none-connection-keep-alive", untilClose("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhello")),
  row("length/large", ok("", "x".repeat(300000))), row("length/spaces", "HTTP/1.1 200 OK\r\nContent-Length:  2 \r\n\r\nok"),
  row("length/decimal-point", untilClose("HTTP/1.1 200 OK\r\nContent-Length: 2.0\r\n\r\nok")),
];
const chunks = [
  row("chunked/plain", chunked("5\r\nhello\r\n0\r\n\r\n")), row("chunked/several", chunked("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")),
  row("chunked/empty", chunked("0\r\n\r\n")), row("chunked/upper-case-size", chunked("A\r\n0123456789\r\n0\r\n\r\n")),
  row("chunked/leading-zeros", chunked("0005\r\nhello\r\n000\r\n\r\n")),
  row("chunked/extension", chunked("5;a=b\r\nhello\r\n0;c\r\n\r\n")), row("chunked/extension-quoted", chunked("5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n")),
  row("chunked/extension-long", chunked(`5;a=${"b".repeat(3000)}\r\nhello\r\n0\r\n\r\n`)), row("chunked/space-after-size", chunked("5 \r\nhello\r\n0\r\n\r\n")),
  row("chunked/space-before-size", chunked(" 5\r\nhello\r\n0\r\n\r\n")),
  row("chunked/trailers", chunked("5\r\nhello\r\n0\r\nX-Sum: abc\r\nX-B: c\r\n\r\n", "Trailer: X-Sum\r\n")),
  row("chunked/trailers-unannounced", chunked("5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n")),
  row("chunked/bad-trailer", [chunked("5\r\nhello\r\n0\r\nnonsense\r\n\r\n"), 50, CLOSE]),
  row("chunked/upper-case-coding", bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
  row("chunked/early-close", untilClose(chunked("5\r\nhello\r\n"))), row("chunked/early-close-in-chunk", untilClose(chunked("5\r\nhel"))),
  row("chunked/early-close-in-size", untilClose(chunked("5"))), row("chunked/close-before-last-line", untilClose(chunked("5\r\nhello\r\n0\r\n"))),
  row("chunked/bad-size", untilClose(chunked("xyz\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/negative-size", untilClose(chunked("-5\r\nhello\r\n0\r\n\r\n"))), row("chunked/prefixed-size", untilClose(chunked("0x5\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/size-overflow", untilClose(chunked("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/no-line-end-after-chunk", untilClose(chunked("5\r\nhello0\r\n\r\n"))),
  row("chunked/chunk-longer-than-size", untilClose(chunked("3\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/bare-line-feeds", untilClose(chunked("5\nhello\n0\n\n"))), row("chunked/empty-size", untilClose(chunked("\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/byte-by-byte", [chunked(""), ...[..."5\r\nhello\r\n0\r\n\r\n"].flatMap((letter) => [letter, 4])]),
  row("chunked/large", chunked(`${(200000).toString(16)}\r\n${"x".repeat(200000)}\r\n0\r\n\r\n`)),
  row("chunked/http-1.0", untilClose("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
  row("chunked/gzip-coding", untilClose(bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))),
  row("chunked/identity", untilClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello")),
  row("chunked/twice", untilClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
  row("chunked/unknown-coding", untilClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: foo\r\n\r\nhello")),
  row("chunked/empty-coding", untilClose("HTTP/1.1 200 OK\r\nTransfer-Encoding: \r\nContent-Length: 5\r\n\r\nhello")),
];
const encoded = (name, coding, body, more = {}) => row(`encoding/${name}`, ok(`Content-Encoding: ${coding}\r\n`, body), { decoded: true, ...more });
// `printf hello | zstd`, as Node 20 has no zstd.
const zstd = Buffer.from("28b52ffd045829000068656c6c6fa36d9f88", "hex");
const encodings = [
  encoded("gzip", "gzip", gzipSync("hello")), encoded("gzip-upper-case", "GZIP", gzipSync("hello")), encoded("x-gzip", "x-gzip", gzipSync("hello")),
  encoded("deflate-zlib", "deflate", deflateSync("hello")), encoded("deflate-raw", "deflate", deflateRawSync("hello")),
  encoded("brotli", "br", brotliCompressSync("hello")),
  encoded("identity", "identity", "hello"), encoded("empty-name", "", "hello"), encoded("unknown", "foo", "hello"), encoded("gzip-of-plain", "gzip", "hello"),
  encoded("brotli-of-plain", "br", "hello"), encoded("deflate-of-plain", "deflate", "hello"), encoded("gzip-empty", "gzip", ""),
  encoded("brotli-empty", "br", ""),
  encoded("gzip-of-nothing", "gzip", gzipSync("")), encoded("gzip-cut", "gzip", gzipSync("hello hello hello").subarray(0, 15)),
  encoded("gzip-bad-sum", "gzip", Buffer.concat([gzipSync("hello").subarray(0, -8), Buffer.alloc(8)])),
  encoded("gzip-two-members", "gzip", Buffer.concat([gzipSync("hel"), gzipSync("lo")])),
  encoded("gzip-and-garbage", "gzip", Buffer.concat([gzipSync("hello"), Buffer.from("garbage")])),
  encoded("gzip-then-brotli", "gzip, br", brotliCompressSync(gzipSync("hello"))), encoded("gzip-twice", "gzip, gzip", gzipSync(gzipSync("hello"))),
  encoded("gzip-large", "gzip", gzipSync("x".repeat(500000))),
  row("encoding/two-headers", ok("Content-Encoding: gzip\r\nContent-Encoding: br\r\n", brotliCompressSync(gzipSync("hello"))), { decoded: true }),
  row("encoding/gzip-chunked", bytes("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", gzipSync("hello").length.toString(16), "\r\n", gzipSync("hello"), "\r\n0\r\n\r\n"), { decoded: true }),
  row("encoding/gzip-until-close", untilClose("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzipSync("hello")), { decoded: true }),
  row("encoding/gzip-of-404", bytes(`HTTP/1.1 404 No\r\nContent-Encoding: gzip\r\nContent-Length: ${gzipSync("no").length}\r\n\r\n`, gzipSync("no")), { decoded: true }),
  encoded("zstd", "zstd", zstd, { only: ["curl"] }), encoded("zstd-of-plain", "zstd", "hello", { only: ["curl"] }),
  encoded("with-parameter", "gzip;q=1", gzipSync("hello")),
];
const typed = (name, type, body, text, more = {}) => row(`text/${name}`, ok(`Content-Type: ${type}\r\n`, body), { text, ...more });
const texts = [
  typed("utf-8", "text/plain; charset=utf-8", "Café 日😀", "Café 日😀"), typed("no-charset", "text/plain", "Café", "Café"),
  typed("iso-8859-1", "text/html; charset=iso-8859-1", latin1("Café"), "Café"),
  typed("latin-1-upper-case", "text/html; Charset=ISO-8859-1", latin1("Café"), "Café"),
  typed("quoted-charset", "text/html; charset=\"iso-8859-1\"", latin1("Café"), "Café"),
  typed("windows-1252", "text/html; charset=windows-1252", Buffer.from([0x80, 0x93, 0x41]), "€“A"),
  typed("windows-1251", "text/html; charset=windows-1251", Buffer.from([0xcf, 0xf0, 0xe8]), "При"),
  typed("shift-jis", "text/html; charset=shift_jis", Buffer.from([0x93, 0xfa, 0x96, 0x7b]), "日本"),
  typed("gbk", "text/html; charset=gbk", Buffer.from([0xc4, 0xe3]), "你"), typed("euc-kr", "text/html; charset=euc-kr", Buffer.from([0xc7, 0xd1]), "한"),
  typed("utf-16le", "text/plain; charset=utf-16le", Buffer.from("hé", "utf16le"), "hé"),
  typed("utf-16-bom", "text/plain; charset=utf-16", Buffer.from("\ufeffhé", "utf16le"), "hé"),
  typed("unknown-charset", "text/plain; charset=nonsense", "Café", "Café"), typed("us-ascii", "text/plain; charset=us-ascii", "abc", "abc"),
  typed("invalid-utf-8", "text/plain; charset=utf-8", Buffer.from([0x61, 0xff, 0x62]), "a\ufffdb"),
  typed("bom", "text/plain; charset=utf-8", "\ufeffabc", "abc"), typed("json", "application/json", "{\"a\":1}", "{\"a\":1}", { json: { a: 1 } }),
  typed("json-bom", "application/json", "\ufeff{\"a\":1}", "{\"a\":1}", { json: { a: 1 } }),
  typed("json-spaces", "application/json", " \n{\"a\":1}\r\n ", " \n{\"a\":1}\r\n ", { json: { a: 1 } }),
  typed("json-empty", "application/json", "", "", { json: "throws" }), typed("json-cut", "application/json", "{\"a\":", "{\"a\":", { json: "throws" }),
  typed("json-scalar", "application/json", "7", "7", { json: 7 }),
  typed("json-repeated-name", "application/json", "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}", { json: { a: 2 } }),
  typed("json-escapes", "application/json", "\"\\u00e4\\ud83d\\ude00\"", "\"\\u00e4\\ud83d\\ude00\"", { json: "ä😀" }),
  typed("json-large-integer", "application/json", "{\"id\": 2733382000000000049}", "{\"id\": 2733382000000000049}", { json: { id: "2733382000000000049n" } }),
  typed("json-negative-zero", "application/json", "-0", "-0", { json: 0 }),
  typed("json-deep", "application/json", "[".repeat(100) + "]".repeat(100), "[".repeat(100) + "]".repeat(100)),
  typed("json-nul", "application/json", "\"a\\u0000b\"", "\"a\\u0000b\"", { json: "a\0b" }),
  typed("json-latin-1", "application/json; charset=iso-8859-1", latin1("\"é\""), "\"é\"", { json: "é" }), typed("nul-bytes", "text/plain", "a\0b", "a\0b"),
  typed("no-type", "", "abc", "abc"), typed("two-types", "text/plain\r\nContent-Type: text/html; charset=iso-8859-1", "abc", "abc"),
];
const location = (name, status, value) => row(`location/${name}`, bytes(`HTTP/1.1 ${status} x\r\nLocation: `, value, "\r\nContent-Length: 0\r\n\r\n"));
const locations = [
  location("relative", 302, "b"), location("unicode", 302, "/ä"), location("latin-1", 302, latin1("/é")),
  location("custom-scheme", 302, "myapp://callback?code=1"), location("empty", 302, ""), location("spaces", 302, "/a b"),
  location("javascript", 302, "javascript:alert(1)"), location("invalid", 302, "http://[::1"), location("of-404", 404, "/b"),
];
const ends = [
  row("end/extra-bytes", start("HTTP/1.1 200 OK") + "extra"), row("end/extra-line", start("HTTP/1.1 200 OK") + "\r\n"),
  row("end/second-answer", start("HTTP/1.1 200 OK") + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"),
  row("end/extra-later", [start("HTTP/1.1 200 OK"), 20, "HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n"], { pauseMs: 400 }),
  row("end/extra-after-204", "HTTP/1.1 204 No Content\r\n\r\nhello"), row("end/extra-after-chunked", chunked("5\r\nhello\r\n0\r\n\r\nextra")),
  row("end/extra-with-close", start("HTTP/1.1 200 OK\r\nConnection: close") + "extra"), row("end/close", start("HTTP/1.1 200 OK\r\nConnection: close")),
  row("end/close-and-closed", [start("HTTP/1.1 200 OK\r\nConnection: close"), CLOSE]),
  row("end/silent-close", [start("HTTP/1.1 200 OK"), CLOSE]), row("end/reset-after-answer", [start("HTTP/1.1 200 OK"), 30, RESET], { pauseMs: 400 }),
  row("end/head-cut", ["HTTP/1.1 200 OK\r\nContent-Le", CLOSE]), row("end/head-cut-after-headers", ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", CLOSE]),
  row("end/status-line-only", ["HTTP/1.1 200 OK\r\n", CLOSE]), row("end/slow-body", [start("HTTP/1.1 200 OK").slice(0, -1), 150, "k"]),
  row("end/hang-in-head", ["HTTP/1.1 200 OK\r\n", 4000, CLOSE], { hangs: true }), row("end/hang-in-body", ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 4000, CLOSE], { hangs: true }),
];

export const RESPONSES = [...statusLines, ...informational, ...noBody, ...headers, ...lengths, ...chunks, ...encodings, ...texts, ...locations, ...ends].map((each) => ({
  ...each,
  steps: [{ method: each.method, url: "http://{o}/a", headers: [] }, { method: "GET", url: "http://{o}/after", headers: [] }],
  fetch: each.decoded,
  isResponse: true,
}));
