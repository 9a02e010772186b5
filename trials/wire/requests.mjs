// The table of requests. A row has an id (`kind/name`) and steps, the requests that a client sends in turn.
//
// A step: method, url, headers, one of body, json, form, query and multipart, trailers, auth, and `redirects`, the number that it follows (default: none).
// `loadstone` is the source of the options, where the script API can write what the neutral fields cannot. `as` names the call (`get`) instead of `request`.
// A row: `refused` for options that the script API must refuse, `answers` of the server in order (default: 200), `pauseMs` between steps (default: 60 after the
// server closes), `ports` beyond the origin `o`, `cookies` for a cookie jar, `fetch` for Node's fetch instead of its `http`, `options` of Loadstone's test,
// `only` for the clients that can express the row.

import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

import { CLOSE, OK, RESET } from "./server.mjs";

const O = "http://{o}";
const row = (id, steps, more = {}) => {
  const all = (Array.isArray(steps) ? steps : [steps]).map(complete);
  return { id, steps: all, refused: all[0].refused, ...more };
};
const complete = (step) => (typeof step === "string" ? { method: "GET", url: O + step, headers: [] } : { method: "GET", url: `${O}/`, headers: [], ...step });
const answer = (status, headers = "", body = "") => `HTTP/1.1 ${status}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const moved = (status, location, more = "") => answer(`${status} Moved`, `Location: ${location}\r\n${more}`);
const one = (name, value) => ({ headers: [[name, value]] });
const JAR = { cookies: true, only: ["curl", "go"] };
const sets = (...cookies) => answer("200 OK", cookies.map((cookie) => `Set-Cookie: ${cookie}\r\n`).join(""), "ok");

const methods = [
  row("defaults/get", { as: "get" }), row("defaults/get-by-fetch", { as: "get" }, { fetch: true }),
  ...["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"].map((method) => row(`defaults/${method.toLowerCase()}`, { method, as: method.toLowerCase() })),
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "REPORT", "PURGE", "QUERY", "M-SEARCH", "LINK", "BREW"].map(
    (method) => row(`method/${method.toLowerCase()}`, { method, url: `${O}/path` })),
  row("method/lower-case-patch", { method: "patch" }),
  row("method/lower-case-get", { method: "get" }),
  row("method/mixed-case", { method: "pUrGe" }),
  row("method/punctuation", { method: "A!#$%&'*+-.^_`|~9" }),
  row("method/with-space", { method: "GET X" }),
  row("method/with-line-break", { method: "GET\r\nX" }),
  row("method/unicode", { method: "GÄT" }),
  row("method/long", { method: "A".repeat(200) }),
  row("method/empty", { method: "" }),
];

const target = (name, path, more) => row(`target/${name}`, { url: O + path }, more);
const targets = [
  target("no-path", ""), target("root", "/"), target("query-without-path", "?a=1"), target("fragment-without-path", "#top"),
  target("empty-query", "/a?"), target("empty-fragment", "/a#"), target("fragment", "/a?b=1#c"), target("question-marks", "/a?b?c??"),
  target("hash-in-query", "/a?b=%23c"), target("double-slash", "//a//b"), target("trailing-slashes", "/a///"), target("asterisk", "/*"),
  target("dot", "/a/./b"), target("dots", "/a/b/../c"), target("dots-above-root", "/../../a"), target("dots-at-end", "/a/b/.."), target("dot-at-end", "/a/."),
  target("encoded-dots", "/a/%2e%2e/b"), target("encoded-dot", "/a/%2E/b"), target("three-dots", "/a/.../b"), target("dots-in-query", "/a?b=../c"),
  target("encoded-slash", "/a%2Fb"), target("encoded-lower-case", "/a%2fb%c3%a4"), target("encoded-unreserved", "/%61%7E%2D"),
  target("double-encoded", "/a%252Fb"), target("lone-percent", "/100%"), target("percent-not-hex", "/a%zz"), target("percent-short", "/a%4"),
  target("percent-in-query", "/a?b=100%"), target("unicode-path", "/ä/日本/😀"), target("unicode-query", "/a?q=ä日😀"), target("unicode-fragment", "/a#ä"),
  target("decomposed-unicode", "/a\u0308"), target("space", "/a b"), target("space-in-query", "/a?b=c d"), target("plus", "/a+b?c+d=e+f"),
  target("encoded-space", "/a%20b?c%20d"), target("quotes", "/a\"b'c"), target("angle-brackets", "/<a>"), target("braces", "/{a}"), target("brackets", "/a[0]"),
  target("pipe", "/a|b"), target("caret", "/a^b"), target("backtick", "/a`b"), target("backslash", "/a\\b"), target("tilde", "/~a"),
  target("reserved", "/!$&'()*+,;=:@"), target("reserved-in-query", "/a?!$'()*,;:@/[]"), target("quotes-in-query", "/a?b=\"c\"&d='e'"),
  target("angle-brackets-in-query", "/a?<b>"), target("braces-in-query", "/a?{b}"), target("pipe-in-query", "/a?b|c"), target("caret-in-query", "/a?b^c"),
  target("backtick-in-query", "/a?b`c"), target("backslash-in-query", "/a?b\\c"), target("semicolons", "/a;b=1;c=2?d;e"), target("colon-first", "/:a"),
  target("url-as-path", "/http://example.test/a"), target("url-in-query", "/a?u=http://example.test/?b=c&d"), target("at-sign", "/@a"),
  target("matrix", "/a;v=1/b"), target("encoded-nul", "/a%00b"), target("encoded-line-break", "/a%0d%0ab?c%0d%0a"), target("tab", "/a\tb"),
  target("line-break", "/a\r\nb"), target("control", "/a\u0001b"), target("delete", "/a\u007fb"), target("trailing-space", "/a "),
  target("leading-space-in-query", "/a? b"), target("long", `/${"a".repeat(8000)}`), target("long-query", `/a?${"b=1&".repeat(2000)}`),
  target("empty-parameters", "/a?&&b&=c&d="), target("repeated-parameters", "/a?b=1&b=2&a=0"), target("equals-signs", "/a?b==c=d"),
  target("non-breaking-space", "/a\u00a0b"), target("zero-width", "/a\u200bb"), target("latin-1-percent", "/%e9?%e9"), target("scheme-upper-case", "/x"),
];
targets.at(-1).steps[0].url = "HTTP://{o}/x";

const query = (name, pairs, path = "/q") => row(`query/${name}`, { url: O + path, query: pairs });
const queries = [
  query("plain", [["a", "1"], ["b", "2"]]), query("order", [["z", "1"], ["a", "2"], ["m", "3"]]), query("repeated", [["a", "1"], ["a", "2"]]),
  query("empty-value", [["a", ""]]), query("space", [["a", "b c"]]), query("plus", [["a", "b+c"]]), query("ampersand", [["a", "b&c=d"]]),
  query("unicode", [["a", "ä日😀"]]), query("reserved", [["a", "!*'();:@,/?#[]$"]]), query("unreserved", [["a", "-._~aZ09"]]), query("percent", [["a", "50%"]]),
  query("percent-encoded", [["a", "%41"]]), query("line-break", [["a", "b\r\nc"]]), query("quotes", [["a", "\"<>\\^`{|}"]]),
  query("long", [["a", "b".repeat(5000)]]),
  query("added", [["b", "2"]], "/q?a=1"), query("before-fragment", [["b", "2"]], "/q?a=1#c"), query("added-to-empty", [["b", "2"]], "/q?"),
];
queries.push(row("query/none", { url: `${O}/q`, loadstone: "{ query: {} }" }), row("query/undefined", { url: `${O}/q`, loadstone: "{ query: { a: undefined, b: null } }" }),
  row("query/number", { url: `${O}/q?a=1.5&b=true&c=1e%2B21`, loadstone: "{ query: { a: 1.5, b: true, c: 1e21 } }", loadstoneUrl: `${O}/q` }),
  row("query/list", { url: `${O}/q?a=1&a=2&b=3`, loadstone: "{ query: { a: [1, 2], b: 3 } }", loadstoneUrl: `${O}/q` }),
  row("query/empty-list", { url: `${O}/q?b=3`, loadstone: "{ query: { a: [], b: 3 } }", loadstoneUrl: `${O}/q` }));

const PROXY = { options: { proxy: "http://{o}" }, proxy: true, only: ["curl", "go"] };
const host = (name, url, more) => row(`host/${name}`, { url }, more);
const hosts = [
  host("ipv6", "http://{v6}/a", { ports: ["v6"] }), host("localhost", "http://localhost:{port}/a"), host("upper-case", "http://LOCALHOST:{port}/a"),
  host("decimal", "http://2130706433:{port}/a"), host("short", "http://127.1:{port}/a"), host("octal", "http://0177.0.0.1:{port}/a"),
  host("hexadecimal", "http://0x7f.0.0.1:{port}/a"), host("full-width", "http://１２７.0.0.1:{port}/a"), host("encoded", "http://127.0.0.%31:{port}/a"),
  host("userinfo", "http://us:pw@{o}/a"), host("user-only", "http://us@{o}/a"), host("empty-password", "http://us:@{o}/a"),
  host("empty-user", "http://:pw@{o}/a"), host("encoded-userinfo", "http://u%40s:p%3Aw%2F@{o}/a"), host("unicode-userinfo", "http://ü:pässword@{o}/a"),
  host("at-in-password", "http://us:p@w@{o}/a"), host("userinfo-and-header", "x", {}), host("no-host", "http:///a"),
  host("bad-port", "http://127.0.0.1:99999/a"),
  host("port-zero", "http://127.0.0.1:0/a"), host("no-port", "http://127.0.0.1:/a"), host("space", "http://127.0.0.1 :{port}/a"),
  host("backslash", "http:\\\\{o}\\a"), host("proxy-plain", "http://Example.test/a?b#c", PROXY), host("proxy-port-80", "http://example.test:80/a", PROXY),
  host("proxy-port-443", "http://example.test:443/a", PROXY), host("proxy-no-path", "http://example.test", PROXY),
  host("proxy-idn", "http://bücher.test/a", PROXY),
  host("proxy-idn-upper-case", "http://BÜCHER.test/a", PROXY), host("proxy-punycode", "http://xn--bcher-kva.test/a", PROXY),
  host("proxy-trailing-dot", "http://example.test./a", PROXY), host("proxy-ipv6", "http://[::FFFF:1]:81/a", PROXY),
  host("proxy-ipv6-long", "http://[0:0:0:0:0:0:0:2]/a", PROXY),
  host("proxy-ipv6-zone", "http://[fe80::1%25eth0]/a", PROXY), host("proxy-underscore", "http://a_b.test/a", PROXY),
  host("proxy-userinfo", "http://us:pw@example.test/a", PROXY),
  host("proxy-empty-label", "http://a..test/a", PROXY), host("proxy-long-label", `http://${"a".repeat(64)}.test/a`, PROXY),
  host("proxy-emoji", "http://😀.test/a", PROXY),
  host("proxy-sharp-s", "http://straße.test/a", PROXY),
];
hosts.find((each) => each.id === "host/userinfo-and-header").steps[0] = complete({ url: "http://us:pw@{o}/a", headers: [["Authorization", "Bearer own"]] });
hosts.push(
  row("host/proxy-post", { method: "POST", url: "http://example.test/a", body: "x", headers: [["Content-Type", "text/plain"]] }, PROXY),
  row("host/proxy-reuse", [{ url: "http://a.test/" }, { url: "http://b.test/" }], PROXY),
  row("host/proxy-host-header", { url: "http://a.test/x", headers: [["Host", "b.test"]] }, PROXY));

const header = (name, ...pairs) => row(`header/${name}`, { headers: pairs });
const headers = [
  header("plain", ["X-A", "b"]), header("lower-case", ["x-lower", "b"]), header("upper-case", ["X-UPPER", "b"]), header("mixed-case", ["x-MiXeD", "b"]),
  header("order", ["Z-Last", "1"], ["A-First", "2"], ["M-Mid", "3"]), header("many", ...Array.from({ length: 60 }, (_, i) => [`X-${59 - i}`, `${i}`])),
  header("empty", ["X-Empty", ""]), header("spaces-inside", ["X-A", "b  c"]), header("spaces-around", ["X-A", "  b  "]), header("tab", ["X-A", "b\tc"]),
  header("unicode", ["X-A", "ä日😀"]), header("latin-1", ["X-A", "é"]), header("encoded", ["X-A", "%C3%A4"]), header("long", ["X-A", "b".repeat(16000)]),
  header("long-name", [`X-${"a".repeat(300)}`, "b"]), header("punctuation-name", ["X!#$%&'*+.^_`|~", "b"]), header("digits", ["123", "b"]),
  header("commas", ["X-A", "b, c;d=\"e,f\""]), header("quotes", ["X-A", "\"b\\\"c\""]), header("colons", ["X-A", "b:c: d"]),
  header("line-break", ["X-A", "b\r\nX-B: c"]),
  header("line-feed", ["X-A", "b\nc"]), header("carriage-return", ["X-A", "b\rc"]), header("nul", ["X-A", "b\0c"]), header("control", ["X-A", "b\u0001c"]),
  header("delete", ["X-A", "b\u007fc"]), header("name-with-space", ["X A", "b"]), header("name-with-colon", ["X:A", "b"]), header("name-unicode", ["X-Ä", "b"]),
  header("name-empty", ["", "b"]), header("name-with-line-break", ["X\r\nY", "b"]), header("name-trailing-space", ["X-A ", "b"]),
  header("name-with-slash", ["X/A", "b"]),
  header("two-spellings", ["X-A", "1"], ["x-a", "2"]), header("two-spellings-apart", ["X-A", "1"], ["X-B", "2"], ["x-A", "3"]),
  header("host", ["Host", "other.test"]), header("host-lower-case", ["host", "other.test:81"]), header("host-last", ["X-A", "1"], ["Host", "other.test"]),
  header("host-empty", ["Host", ""]),
  header("user-agent", ["User-Agent", "mine/1"]), header("user-agent-lower-case", ["user-agent", "mine/1"]), header("user-agent-empty", ["User-Agent", ""]),
  header("accept", ["Accept", "text/html;q=0.5, */*"]), header("accept-encoding", ["Accept-Encoding", "identity"]),
  header("accept-encoding-own", ["accept-encoding", "gzip"]),
  header("accept-language", ["Accept-Language", "de-CH, en;q=0.8"]), header("authorization", ["Authorization", "Digest username=\"a\""]),
  header("cookie", ["Cookie", "a=1; b=2"]), header("cookie-odd", ["Cookie", "a=\"b,c\"; d; =e"]), header("referer", ["Referer", "http://a.test/b#c"]),
  header("origin", ["Origin", "null"]), header("range", ["Range", "bytes=0-99"]), header("if-none-match", ["If-None-Match", "W/\"abc\""]),
  header("if-modified-since", ["If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"]), header("cache-control", ["Cache-Control", "no-cache"]),
  header("te", ["TE", "trailers"]),
  header("upgrade", ["Upgrade", "foo/2"]), header("keep-alive", ["Keep-Alive", "timeout=5"]),
  header("proxy-authorization", ["Proxy-Authorization", "Basic eDp5"]),
  header("proxy-connection", ["Proxy-Connection", "keep-alive"]),
  header("traceparent", ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]),
  header("content-type-of-get", ["Content-Type", "text/plain"]), header("trailer", ["Trailer", "X-Sum"]),
  header("date", ["Date", "Sun, 06 Nov 1994 08:49:37 GMT"]),
  header("x-forwarded-for", ["X-Forwarded-For", "10.0.0.1, 10.0.0.2"]), header("sec", ["Sec-Fetch-Mode", "navigate"]),
  header("expect-other", ["Expect", "nothing"]),
  header("via", ["Via", "1.1 a"]), header("forwarded", ["Forwarded", "for=\"[2001:db8::1]:47011\""]), header("soap-action", ["SOAPAction", "\"urn:a#b\""]),
  header("proto-name", ["__proto__", "b"]), header("constructor-name", ["constructor", "b"]), header("to-string-name", ["toString", "b"]),
  row("header/undefined", { loadstone: "{ headers: { \"X-A\": undefined, \"X-B\": \"1\" } }", headers: [["X-B", "1"]] }),
  row("header/null", { loadstone: "{ headers: { \"X-A\": null, \"X-B\": \"1\" } }", headers: [["X-B", "1"]] }),
  row("header/number", { loadstone: "{ headers: { \"X-A\": 7, \"X-B\": 1.5 } }", headers: [["X-A", "7"], ["X-B", "1.5"]] }),
  row("header/boolean", { loadstone: "{ headers: { \"X-A\": true } }", headers: [["X-A", "true"]] }),
  row("header/integer-names", { loadstone: "{ headers: { b: \"1\", 2: \"2\", 1: \"3\" } }", headers: [["1", "3"], ["2", "2"], ["b", "1"]] }),
  row("header/list", { loadstone: "{ headers: { \"X-A\": [\"1\", \"2\"] } }", headers: [["X-A", "1"], ["X-A", "2"]] }),
  row("header/object", { loadstone: "{ headers: { \"X-A\": { b: 1 } } }", refused: true }),
];

const OF_CONNECTION = [OK, OK, OK];
const connections = [
  row("connection/reuse", ["/1", "/2", "/3"]),
  row("connection/reuse-after-post", [{ method: "POST", body: "a", headers: [["Content-Type", "text/plain"]] }, "/2"]),
  row("connection/reuse-after-head", [{ method: "HEAD" }, "/2"]),
  row("connection/reuse-after-404", ["/1", "/2"], { answers: [answer("404 Not Found", "", "no"), OK] }),
  row("connection/reuse-after-500", ["/1", "/2"], { answers: [answer("500 Oops", "", "no"), OK] }),
  row("connection/close-asked", [one("Connection", "close"), "/2", "/3"], { answers: OF_CONNECTION }),
  row("connection/close-asked-lower-case", [one("connection", "CLOSE"), "/2"], { answers: OF_CONNECTION }),
  row("connection/close-asked-in-list", [one("Connection", "foo, close"), "/2"], { answers: OF_CONNECTION }),
  row("connection/close-asked-and-done", [one("Connection", "close"), { method: "POST", body: "x", headers: [["Content-Type", "text/plain"]] }], { answers: [[OK, CLOSE], OK] }),
  row("connection/close-answered", ["/1", "/2"], { answers: [answer("200 OK", "Connection: close\r\n", "ok"), OK] }),
  row("connection/close-answered-upper-case", ["/1", "/2"], { answers: [answer("200 OK", "connection: Close\r\n", "ok"), OK] }),
  row("connection/close-answered-in-list", ["/1", "/2"], { answers: [answer("200 OK", "Connection: x, close\r\n", "ok"), OK] }),
  row("connection/close-answered-and-done", ["/1", "/2"], { answers: [[answer("200 OK", "Connection: close\r\n", "ok"), CLOSE], OK] }),
  row("connection/keep-alive-asked", [one("Connection", "keep-alive"), "/2"]),
  row("connection/http-1.0", ["/1", "/2"], { answers: [OK.replace("1.1", "1.0"), OK] }),
  row("connection/http-1.0-keep-alive", ["/1", "/2"], { answers: [answer("200 OK", "Connection: keep-alive\r\n", "ok").replace("1.1", "1.0"), OK] }),
  row("connection/until-close", ["/1", "/2"], { answers: [["HTTP/1.1 200 OK\r\n\r\nok", CLOSE], OK] }),
  row("connection/keep-alive-timeout-0", ["/1", "/2"], { answers: [answer("200 OK", "Keep-Alive: timeout=0\r\n", "ok"), OK] }),
  row("connection/upgrade-refused", [{ headers: [["Connection", "Upgrade"], ["Upgrade", "foo"]] }, "/2"]),
  row("connection/proxy-connection-close", ["/1", "/2"], { answers: [answer("200 OK", "Proxy-Connection: close\r\n", "ok"), OK] }),
  row("connection/silent-close-get", ["/1", "/2"], { answers: [[OK, CLOSE], OK] }),
  row("connection/silent-close-post", ["/1", { method: "POST", body: "x", headers: [["Content-Type", "text/plain"]] }], { answers: [[OK, CLOSE], OK] }),
  row("connection/close-without-answer-get", ["/1"], { answers: [[CLOSE], OK] }),
  row("connection/reset-without-answer-get", ["/1"], { answers: [[RESET], OK] }),
  row("connection/close-without-answer-post", { method: "POST", body: "x", headers: [["Content-Type", "text/plain"]] }, { answers: [[CLOSE], OK] }),
  row("connection/second-closed-get", ["/1", "/2"], { answers: [OK, [CLOSE], OK] }),
  row("connection/second-reset-get", ["/1", "/2"], { answers: [OK, [RESET], OK] }),
  row("connection/second-closed-post", ["/1", { method: "POST", body: "x", headers: [["Content-Type", "text/plain"]] }], { answers: [OK, [CLOSE], OK] }),
  row("connection/second-closed-put", ["/1", { method: "PUT", body: "x", headers: [["Content-Type", "text/plain"]] }], { answers: [OK, [CLOSE], OK] }),
  row("connection/part-of-head-then-close", ["/1", "/2"], { answers: [["HTTP/1.1 200 OK\r\nConte", CLOSE], OK] }),
  row("connection/503-retry-after", ["/1"], { answers: [answer("503 Busy", "Retry-After: 0\r\n")] }),
  row("connection/408", ["/1", "/2"], { answers: [[answer("408 Timeout", "Connection: close\r\n"), CLOSE], OK] }),
  row("connection/421", ["/1"], { answers: [answer("421 Misdirected")] }), row("connection/425", ["/1"], { answers: [answer("425 Too Early")] }),
  row("connection/429", ["/1"], { answers: [answer("429 Slow", "Retry-After: 0\r\n")] }),
  row("connection/two-origins", ["/1", { url: "http://{other}/2" }, "/3", { url: "http://{other}/4" }], { ports: ["other"] }),
  row("connection/two-names", [{ url: "http://localhost:{port}/1" }, "/2", { url: "http://LocalHost:{port}/3" }]),
  row("connection/other-credentials", [{ auth: ["a", "1"] }, { auth: ["b", "2"] }]),
];

const TEXT = [["Content-Type", "text/plain"]];
const post = (name, step, more) => row(`body/${name}`, { method: "POST", ...step }, more);
const body = (name, content, type = TEXT) => post(name, { body: content, headers: type });
const bodies = [
  body("string", "hello"), body("unicode", "ä日😀"), body("empty", ""), body("line-breaks", "a\r\nb\nc\r"), body("nul", "a\0b"), body("quotes", "\"'\\"),
  body("bytes", Buffer.from([0, 255, 128, 10, 13])), body("all-bytes", Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
  body("no-bytes", Buffer.alloc(0)),
  body("bom", "\ufeffa"), body("lone-surrogate", "a\ud800b"), body("16-KiB", "x".repeat(16384)), body("64-KiB-and-1", "x".repeat(65537)),
  body("1-MiB", "x".repeat(1 << 20)), body("2-MiB", Buffer.alloc(2 << 20, 7)),
  body("no-type", "hello", []), body("type-with-charset", "hello", [["Content-Type", "text/plain; charset=utf-8"]]),
  body("type-lower-case-name", "x", [["content-type", "text/x"]]),
  body("type-empty", "x", [["Content-Type", ""]]), body("xml", "<a>ü</a>", [["Content-Type", "application/xml"]]),
  body("looks-like-json", "{\"a\":1}", [["Content-Type", "application/json"]]),
  body("gzip", gzipSync("hello"), [["Content-Type", "text/plain"], ["Content-Encoding", "gzip"]]),
  body("deflate", deflateSync("hello"), [["Content-Encoding", "deflate"], ["Content-Type", "text/plain"]]),
  body("brotli", brotliCompressSync("hello"), [["Content-Encoding", "br"], ["Content-Type", "text/plain"]]),
  ...["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "PROPFIND"].map((method) => row(`body/with-${method.toLowerCase()}`, { method, body: "hello", headers: TEXT })),
  ...["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "PROPFIND"].map((method) => row(`body/empty-with-${method.toLowerCase()}`, { method, body: "", headers: TEXT })),
  row("body/none-with-post", { method: "POST" }), row("body/none-with-put", { method: "PUT" }), row("body/none-with-patch", { method: "PATCH" }),
  row("body/none-with-delete", { method: "DELETE" }),
  row("body/none-with-custom", { method: "SUBMIT" }), row("body/undefined", { method: "POST", loadstone: "{ body: undefined }" }),
];
const json = (name, value, more = {}) => row(`json/${name}`, { method: "POST", json: value, ...more });
const jsons = [
  json("object", { b: 1, a: 2 }), json("empty-object", {}), json("list", [1, 2, 3]), json("string", "a"), json("number", 1.5), json("zero", 0),
  json("true", true), json("false", false), json("null", null),
  json("empty-string", ""), json("unicode", { ä: "日😀" }), json("escapes", "\"\\\b\f\n\r\t\u0001\u007f"), json("separators", "\u2028\u2029"),
  json("html", "<a>&'</a>"), json("slash", "a/b"), json("lone-surrogate", "a\ud800"),
  json("nested", { a: { b: [{ c: null }] } }), json("large-numbers", [1e21, 1e-7, 9007199254740991, -0, 0.1]), json("integer-names", { b: 1, 2: 2, 1: 3 }),
  json("deep", Array.from({ length: 100 }).reduce((inner) => [inner], 1)), json("large", Array.from({ length: 5000 }, (_, i) => ({ i, s: "x".repeat(10) }))),
  row("json/undefined-members", { method: "POST", json: { b: [null], c: 1 }, loadstone: "{ json: { a: undefined, b: [undefined], c: 1 } }" }),
  row("json/not-finite", { method: "POST", json: [null, null], loadstone: "{ json: [NaN, Infinity] }" }),
  row("json/date", { method: "POST", json: "1994-11-06T08:49:37.000Z", loadstone: "{ json: new Date(784111777000) }" }),
  row("json/to-json", { method: "POST", json: { a: 7 }, loadstone: "{ json: { a: { toJSON: () => 7 } } }" }),
  row("json/map", { method: "POST", json: {}, loadstone: "{ json: new Map([[\"a\", 1]]) }" }),
  row("json/own-type", { method: "POST", json: { a: 1 }, headers: [["Content-Type", "application/vnd.api+json"]] }),
  row("json/with-get", { method: "GET", json: { a: 1 } }), row("json/with-delete", { method: "DELETE", json: { a: 1 } }),
  row("json/with-patch", { method: "PATCH", json: { a: 1 } }),
  row("json/bigint", {
    method: "POST", body: "{\"a\":12345678901234567890}", headers: [["Content-Type", "application/json"]],
    loadstone: "{ json: { a: 12345678901234567890n as any } }",
  }),
  row("json/circular", { method: "POST", loadstone: "{ json: (() => { const a: any = {}; a.a = a; return a; })() }", refused: true }),
];
const form = (name, pairs) => row(`form/${name}`, { method: "POST", form: pairs }, { fetch: true });
const forms = [
  form("plain", [["a", "1"], ["b", "2"]]), form("order", [["z", "1"], ["a", "2"]]), form("repeated", [["a", "1"], ["a", "2"], ["b", "3"]]),
  form("empty-value", [["a", ""]]), form("space", [["a", "b c"]]), form("plus", [["a", "b+c"]]),
  form("ampersand", [["a", "b&c=d"]]), form("unicode", [["ä", "日😀"]]), form("names", [["a b", "1"], ["c[d]", "2"], ["e&f", "3"]]),
  form("line-breaks", [["a", "b\r\nc\nd"]]), form("reserved", [["a", "!*'();:@,/?#[]$~-._"]]),
  form("percent", [["a", "50%"]]), form("long", [["a", "b".repeat(20000)]]), form("nul", [["a", "b\0c"]]), form("empty-name", [["", "a"]]),
  row("form/empty", { method: "POST", body: "", headers: [["Content-Type", "application/x-www-form-urlencoded"]], loadstone: "{ form: {} }" }),
  row("form/undefined", { method: "POST", form: [["b", "1"]], loadstone: "{ form: { a: undefined, b: 1, c: null } }" }, { fetch: true }),
  row("form/with-put", { method: "PUT", form: [["a", "1"]] }, { fetch: true }),
];
const part = (name, value) => ({ name, value });
const upload = (name, filename, content, type) => ({ name, filename, content: Buffer.from(content), type });
const multipart = (name, ...parts) => row(`multipart/${name}`, { method: "POST", multipart: parts }, { fetch: true });
const multiparts = [
  multipart("field", part("a", "1")), multipart("fields", part("b", "1"), part("a", "2")), multipart("empty-field", part("a", "")),
  multipart("unicode-field", part("ä", "日😀")), multipart("quote-in-name", part("a\"b", "1")),
  multipart("line-break-in-name", part("a\r\nb", "1")), multipart("line-break-in-value", part("a", "b\r\nc\nd")), multipart("brackets", part("a[]", "1")),
  multipart("backslash-in-name", part("a\\b", "1")), multipart("percent-in-name", part("a%22b", "1")),
  multipart("repeated-field", part("a", "1"), part("a", "2")), multipart("long-field", part("a", "b".repeat(50000))),
  multipart("dashes", part("a", "--\r\n------\r\n")),
  multipart("file", upload("f", "a.txt", "hello", "text/plain")), multipart("file-and-field", part("t", "1"), upload("f", "a.txt", "hello", "text/plain")),
  multipart("empty-file", upload("f", "a.txt", "", "text/plain")),
  multipart("unicode-file-name", upload("f", "ä日😀.txt", "x", "text/plain")), multipart("quote-in-file-name", upload("f", "a\"b.txt", "x", "text/plain")),
  multipart("spaces-in-file-name", upload("f", "a b;c.txt", "x", "text/plain")),
  multipart("backslash-in-file-name", upload("f", "a\\b.txt", "x", "text/plain")),
  multipart("binary-file", upload("f", "a.bin", Buffer.from([0, 1, 13, 10, 45, 45, 255]), "application/octet-stream")),
  multipart("two-files", upload("f", "a.txt", "1", "text/plain"), upload("g", "b.txt", "2", "text/plain")),
  multipart("files-of-one-name", upload("f", "a.txt", "1", "text/plain"), upload("f", "b.txt", "2", "text/plain")),
  multipart("large-file", upload("f", "a.bin", Buffer.alloc(1 << 20, 65), "application/octet-stream")),
  multipart("type-with-charset", upload("f", "a.csv", "a,b", "text/csv; charset=utf-8")),
  row("multipart/number-and-boolean", { method: "POST", multipart: [part("a", "1.5"), part("b", "true")], loadstone: "{ multipart: { a: 1.5, b: true } }" }, { fetch: true }),
  row("multipart/undefined", { method: "POST", multipart: [part("b", "1")], loadstone: "{ multipart: { a: undefined as any, b: \"1\" } }" }, { fetch: true }),
  row("multipart/own-boundary", { method: "POST", loadstone: "{ headers: { \"content-type\": \"multipart/form-data; boundary=X\" }, multipart: { a: \"1\" } }", refused: true }),
];

const framed = (name, method, content, ...pairs) => row(`framing/${name}`, { method, body: content, headers: [["Content-Type", "text/plain"], ...pairs] });
// curl sends trailers from its library alone.
const trailed = (name, content, ...trailers) =>
  row(`framing/${name}`, { method: "POST", body: content, headers: [["Content-Type", "text/plain"]], trailers }, { only: ["node", "go"] });
const framings = [
  framed("length-right", "POST", "hello", ["Content-Length", "5"]), framed("length-right-lower-case", "POST", "hello", ["content-length", "5"]),
  framed("length-too-short", "POST", "hello", ["Content-Length", "3"]),
  framed("length-too-long", "POST", "hello", ["Content-Length", "9"]), framed("length-not-a-number", "POST", "hello", ["Content-Length", "abc"]),
  framed("length-negative", "POST", "hello", ["Content-Length", "-1"]),
  framed("length-empty", "POST", "hello", ["Content-Length", ""]), framed("length-zero-of-empty", "POST", "", ["Content-Length", "0"]),
  row("framing/length-of-get", one("Content-Length", "0")), row("framing/length-of-get-without-body", one("Content-Length", "5")),
  framed("chunked", "POST", "hello", ["Transfer-Encoding", "chunked"]), framed("chunked-upper-case", "POST", "hello", ["transfer-encoding", "Chunked"]),
  framed("chunked-empty", "POST", "", ["Transfer-Encoding", "chunked"]),
  framed("chunked-put", "PUT", "x".repeat(100000), ["Transfer-Encoding", "chunked"]),
  framed("chunked-and-length", "POST", "hello", ["Transfer-Encoding", "chunked"], ["Content-Length", "5"]),
  framed("gzip-chunked", "POST", "hello", ["Transfer-Encoding", "gzip, chunked"]),
  framed("identity", "POST", "hello", ["Transfer-Encoding", "identity"]), row("framing/chunked-get", one("Transfer-Encoding", "chunked")),
  framed("expect-continue", "POST", "hello", ["Expect", "100-continue"]), framed("expect-continue-put", "PUT", "x".repeat(3000), ["expect", "100-Continue"]),
  row("framing/expect-refused", { method: "POST", body: "hello", headers: [["Content-Type", "text/plain"], ["Expect", "100-continue"]] }, { answers: [[answer("417 No", "Connection: close\r\n"), CLOSE]] }),
  row("framing/expect-of-get", one("Expect", "100-continue")),
  trailed("trailers", "hello", ["X-Sum", "7"], ["X-B", "c; d"]), trailed("trailer-list", "hello", ["X-Sum", "7"], ["X-Sum", "8"]),
  trailed("trailer-empty-value", "hello", ["X-Sum", ""]), trailed("trailers-of-long-body", "x".repeat(100000), ["X-Sum", "7"]),
  trailed("trailers-of-empty-body", "", ["X-Sum", "7"]),
];

const AT = { answers: [moved(302, "/b"), OK] };
const redirect = (name, location, more = {}) => row(`redirect/${name}`, { url: `${O}/x/a?q=1#f`, redirects: 5 }, { fetch: true, answers: [moved(302, location), OK, OK], ...more });
const redirected = (status, method) => row(`redirect/${status}-${method.toLowerCase()}`, {
  method, url: `${O}/a`, redirects: 5,
  ...(method === "GET" || method === "HEAD" ? {} : { body: "hello", headers: [["Content-Type", "text/plain"], ["X-Own", "1"]] }),
}, { fetch: true, answers: [method === "HEAD" ? `HTTP/1.1 ${status} Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n` : moved(status, "/b")] });
const redirects = [
  ...[301, 302, 303, 307, 308].flatMap((status) => ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"].map((method) => redirected(status, method))),
  ...[300, 304, 305, 306].map((status) => row(`redirect/${status}`, { redirects: 5 }, { fetch: true, answers: [moved(status, "/b")] })),
  redirect("relative", "b"), redirect("relative-dots", "../b"), redirect("relative-query", "?r=2"), redirect("fragment-only", "#g"),
  redirect("with-fragment", "/b#g"), redirect("absolute", "http://{o}/b"),
  redirect("without-scheme", "//{o}/b"), redirect("upper-case-scheme", "HTTP://{o}/b"), redirect("unicode", "/ä?q=ö"), redirect("encoded", "/%C3%A4?q=%c3%b6"),
  redirect("space", "/a b?c d"), redirect("surrounding-space", "  /b  "), redirect("double-slash-path", "/x//b"),
  redirect("empty", ""), redirect("percent", "/100%"), redirect("backslash", "\\b"), redirect("pipe", "/a|b?c|d"), redirect("quotes", "/\"a\"?'b'"),
  redirect("latin-1", Buffer.from("x")), redirect("userinfo", "http://us:pw@{o}/b"),
  redirect("no-location", "", { answers: [answer("302 Found")] }), redirect("other-scheme", "myapp://callback?code=1"), redirect("mailto", "mailto:a@b.test"),
  redirect("bad-url", "http://[::1"), redirect("port-only", "http://:80/"),
  redirect("two-locations", "/b", { answers: [moved(302, "/b", "Location: /c\r\n"), OK] }),
  redirect("with-body", "/b", { answers: [`HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 5\r\n\r\nmoved`, OK] }),
  redirect("chunked-body", "/b", { answers: ["HTTP/1.1 302 Found\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nmoved\r\n0\r\n\r\n", OK] }),
  redirect("and-close", "/b", { answers: [[moved(302, "/b", "Connection: close\r\n"), CLOSE], OK] }),
  redirect("chain", "/b", { answers: [moved(301, "/b"), moved(302, "/c"), moved(307, "/d"), OK] }),
  row("redirect/not-followed", { url: `${O}/a`, redirects: 0 }, { fetch: true, ...AT }),
  row("redirect/limit", { url: `${O}/a`, redirects: 2 }, { only: ["curl"], answers: [moved(302, "/b"), moved(302, "/c"), moved(302, "/d"), OK] }),
  row("redirect/headers-kept", { url: `${O}/a`, redirects: 5, headers: [["X-Own", "1"], ["Authorization", "Bearer t"], ["Cookie", "a=1"], ["Accept", "text/html"]] }, { fetch: true, ...AT }),
  row("redirect/headers-cross-origin", { url: `${O}/a`, redirects: 5, headers: [["X-Own", "1"], ["Authorization", "Bearer t"], ["Cookie", "a=1"], ["Accept", "text/html"]] }, { fetch: true, ports: ["other"], answers: [moved(302, "http://{other}/b"), OK] }),
  row("redirect/headers-other-host", { url: `${O}/a`, redirects: 5, headers: [["X-Own", "1"], ["Authorization", "Bearer t"], ["Cookie", "a=1"]] }, { fetch: true, answers: [moved(302, "http://localhost:{port}/b"), OK] }),
  row("redirect/cross-origin-and-back", { url: `${O}/a`, redirects: 5, headers: [["Authorization", "Bearer t"]] }, { fetch: true, ports: ["other"], answers: [moved(302, "http://{other}/b"), moved(302, "http://{o}/c"), OK] }),
  row("redirect/auth", { url: `${O}/a`, redirects: 5, auth: ["us", "pw"] }, AT),
  row("redirect/auth-cross-origin", { url: `${O}/a`, redirects: 5, auth: ["us", "pw"] }, { ports: ["other"], answers: [moved(302, "http://{other}/b"), OK] }),
  row("redirect/userinfo-then-relative", { url: "http://us:pw@{o}/a", redirects: 5 }, { only: ["curl", "go"], ...AT }),
  row("redirect/host-header", { url: `${O}/a`, redirects: 5, headers: [["Host", "other.test"]] }, { only: ["curl", "go"], ...AT }),
  row("redirect/host-header-cross-origin", { url: `${O}/a`, redirects: 5, headers: [["Host", "other.test"]] }, { only: ["curl", "go"], ports: ["other"], answers: [moved(302, "http://{other}/b"), OK] }),
  row("redirect/307-cross-origin-post", { method: "POST", url: `${O}/a`, redirects: 5, body: "hello", headers: TEXT }, { fetch: true, ports: ["other"], answers: [moved(307, "http://{other}/b"), OK] }),
  row("redirect/302-json", { method: "POST", url: `${O}/a`, redirects: 5, json: { a: 1 } }, { fetch: true, ...AT }),
  row("redirect/307-json", { method: "POST", url: `${O}/a`, redirects: 5, json: { a: 1 } }, { fetch: true, answers: [moved(307, "/b"), OK] }),
  row("redirect/302-content-headers", { method: "POST", url: `${O}/a`, redirects: 5, body: "hello", headers: [["Content-Type", "text/plain"], ["Content-Language", "de"], ["Content-Encoding", "x"], ["X-Own", "1"]] }, { fetch: true, ...AT }),
  row("redirect/307-form", { method: "POST", url: `${O}/a`, redirects: 5, form: [["a", "1"]] }, { fetch: true, answers: [moved(307, "/b"), OK] }),
  row("redirect/308-large", { method: "POST", url: `${O}/a`, redirects: 5, body: "x".repeat(200000), headers: TEXT }, { fetch: true, answers: [moved(308, "/b"), OK] }),
  row("redirect/303-custom", { method: "REPORT", url: `${O}/a`, redirects: 5 }, { fetch: true, answers: [moved(303, "/b"), OK] }),
  row("redirect/sets-cookie", { url: `${O}/a`, redirects: 5 }, { ...JAR, answers: [moved(302, "/b", "Set-Cookie: s=1\r\n"), OK] }),
  row("redirect/sets-cookie-cross-origin", { url: `${O}/a`, redirects: 5 }, { ...JAR, answers: [moved(302, "http://localhost:{port}/b", "Set-Cookie: s=1; Path=/\r\n"), OK] }),
  row("redirect/referer", { url: `${O}/a`, redirects: 5, headers: [["Referer", "http://a.test/"]] }, { fetch: true, ...AT }),
];
redirects.find((each) => each.id === "redirect/latin-1").answers[0] = Buffer.concat([Buffer.from("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /"), Buffer.from([0xe9]), Buffer.from("\r\n\r\n")]);

const auth = (name, username, password, more = {}) => row(`auth/${name}`, { url: `${O}/a`, auth: [username, password], ...more });
const auths = [
  auth("basic", "us", "pw"), auth("empty-password", "us", ""), auth("empty-user", "", "pw"), auth("unicode", "ü", "pässwörd日"),
  auth("colon-in-password", "us", "a:b:c"), auth("long", "u".repeat(200), "p".repeat(200)), auth("special", "a@b", "c/d?e#f"),
  auth("with-post", "us", "pw", { method: "POST", body: "x", headers: TEXT }),
  row("auth/bearer", { loadstone: "{ auth: { bearer: \"abc.def\" } }", headers: [["Authorization", "Bearer abc.def"]] }),
  row("auth/401-is-not-retried", { auth: ["us", "pw"] }, { answers: [answer("401 No", "WWW-Authenticate: Basic realm=\"x\"\r\n")] }),
  row("auth/401-without-credentials", {}, { answers: [answer("401 No", "WWW-Authenticate: Basic realm=\"x\"\r\n")] }),
  row("auth/407-is-not-retried", {}, { answers: [answer("407 No", "Proxy-Authenticate: Basic realm=\"x\"\r\n")] }),
  row("auth/header-and-auth", { auth: ["us", "pw"], headers: [["Authorization", "Bearer own"]] }),
  row("auth/null", { loadstone: "{ auth: null }" }),
];

const cookie = (name, lines, ...urls) => row(`cookie/${name}`, ["/a/b/c", ...(urls.length ? urls : ["/a/b/d"])], { ...JAR, answers: [sets(...[lines].flat()), OK, OK, OK] });
const cookies = [
  cookie("plain", "a=1"), cookie("two", ["a=1", "b=2"]),
  cookie("order-of-creation", ["z=1; Path=/", "m=2; Path=/", "a=3; Path=/", "k=4; Path=/", "b=5; Path=/"]),
  cookie("longer-paths-first", ["r=1; Path=/", "d=2; Path=/a/b", "m=3; Path=/a"]),
  cookie("same-name-two-paths", ["a=root; Path=/", "a=deep; Path=/a/b"]), cookie("replaced", ["a=1", "b=2", "a=3"]),
  cookie("path", "a=1; Path=/a", "/a", "/a/x", "/ab"), cookie("path-with-slash", "a=1; Path=/a/", "/a", "/a/x", "/a/"),
  cookie("default-path", "a=1", "/a/b/x", "/a/x", "/a/b"), cookie("path-not-of-request", "a=1; Path=/z", "/a", "/z"),
  cookie("path-relative", "a=1; Path=z", "/a/b/x", "/z"), cookie("path-empty", "a=1; Path=", "/a/b/x", "/x"),
  cookie("path-quoted", "a=1; Path=\"/\"", "/a/b/x", "/x"),
  cookie("path-case", "a=1; Path=/A", "/A/x", "/a/x"), cookie("path-encoded", "a=1; Path=/%61", "/a/x", "/%61/x"),
  cookie("domain-of-address", "a=1; Domain=127.0.0.1"), cookie("domain-with-dot", "a=1; Domain=.127.0.0.1"), cookie("domain-other", "a=1; Domain=example.test"),
  cookie("domain-empty", "a=1; Domain="), cookie("domain-port", "a=1; Domain=127.0.0.1:80"), cookie("secure", "a=1; Secure"),
  cookie("http-only", "a=1; HttpOnly"), cookie("same-site", "a=1; SameSite=Strict"), cookie("partitioned", "a=1; Secure; Partitioned"),
  cookie("attribute-case", "a=1; pAtH=/; HTTPONLY"), cookie("unknown-attribute", "a=1; Foo=bar; Priority=High"), cookie("no-spaces", "a=1;Path=/;HttpOnly"),
  cookie("many-spaces", "  a = 1  ;  Path = / "), cookie("tab", "a=1\t; Path=/"),
  cookie("quoted-value", "a=\"b c\""), cookie("quotes-inside", "a=b\"c\"d"), cookie("equals-in-value", "a=b=c=="), cookie("comma-in-value", "a=b,c"),
  cookie("space-in-value", "a=b c"), cookie("empty-value", "a="), cookie("empty-name", "=b"), cookie("no-equals", "a"), cookie("only-attributes", "; Path=/"),
  cookie("unicode-value", "a=José日"), cookie("unicode-name", "é=1"), cookie("encoded-value", "a=%20%C3%A4"), cookie("json-value", "a={\"b\":1}"),
  cookie("backslash", "a=b\\c"), cookie("control", "a=b\u0001c"), cookie("long", `a=${"b".repeat(4000)}`), cookie("too-long", `a=${"b".repeat(9000)}`),
  cookie("many", Array.from({ length: 40 }, (_, i) => `c${i}=${i}`)), cookie("expires-past", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
  cookie("expires-future", "a=1; Expires=Fri, 01 Jan 2038 00:00:00 GMT"), cookie("expires-dashes", "a=1; Expires=Fri, 01-Jan-2038 00:00:00 GMT"),
  cookie("expires-two-digits", "a=1; Expires=Friday, 01-Jan-37 00:00:00 GMT"), cookie("expires-asctime", "a=1; Expires=Fri Jan  1 00:00:00 2038"),
  cookie("expires-nonsense", "a=1; Expires=tomorrow"), cookie("expires-empty", "a=1; Expires="),
  cookie("expires-past-two-digits", "a=1; Expires=Thursday, 01-Jan-70 00:00:00 GMT"),
  cookie("max-age", "a=1; Max-Age=1000"), cookie("max-age-zero", "a=1; Max-Age=0"), cookie("max-age-negative", "a=1; Max-Age=-1"),
  cookie("max-age-nonsense", "a=1; Max-Age=1h"), cookie("max-age-before-expires", "a=1; Max-Age=1000; Expires=Thu, 01 Jan 1970 00:00:00 GMT"),
  cookie("max-age-huge", "a=1; Max-Age=99999999999999999999"),
  cookie("deleted-by-expires", ["a=1", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
  cookie("deleted-on-other-path", ["a=1; Path=/", "a=; Path=/a; Max-Age=0"]), cookie("host-prefix", "__Host-a=1; Path=/"),
  cookie("secure-prefix", "__Secure-a=1; Path=/"), cookie("host-prefix-secure", "__Host-a=1; Path=/; Secure"),
  cookie("comma-joined", "a=1, b=2"), cookie("two-semicolons", "a=1;; Path=/"), cookie("trailing-semicolon", "a=1;"), cookie("name-with-space", "a b=1"),
  cookie("case-of-names", ["a=1", "A=2"]), cookie("repeated-attributes", "a=1; Path=/z; Path=/a"),
  cookie("prefix-of-path", "a=1; Path=/a/b", "/a/bc", "/a/b?x", "/a/b/"),
  row("cookie/other-port", ["/a", { url: "http://{other}/b" }], { ...JAR, ports: ["other"], answers: [sets("a=1; Path=/"), OK] }),
  row("cookie/other-host", ["/a", { url: "http://localhost:{port}/b" }], { ...JAR, answers: [sets("a=1; Path=/"), OK] }),
  row("cookie/upper-case-host", [{ url: "http://localhost:{port}/a" }, { url: "http://LOCALHOST:{port}/b" }], { ...JAR, answers: [sets("a=1; Path=/"), OK] }),
  row("cookie/own-header-too", ["/a", { url: `${O}/b`, headers: [["Cookie", "b=2"]] }], { ...JAR, answers: [sets("a=1; Path=/"), OK] }),
  row("cookie/of-an-error", ["/a", "/b"], { ...JAR, answers: [answer("500 Oops", "Set-Cookie: a=1\r\n"), OK] }),
  row("cookie/of-head", [{ method: "HEAD", url: `${O}/a` }, "/b"], { ...JAR, answers: ["HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nContent-Length: 2\r\n\r\n", OK] }),
  row("cookie/set-cookie2", ["/a", "/b"], { ...JAR, answers: [answer("200 OK", "Set-Cookie2: a=1; Version=1\r\n"), OK] }),
];

export const REQUESTS = [
  ...methods, ...targets, ...queries, ...hosts, ...headers, ...connections, ...bodies, ...jsons, ...forms, ...multiparts, ...framings, ...redirects, ...auths,
  ...cookies,
];
