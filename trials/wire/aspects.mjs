// What is compared. Raw recordings and the clients' outcomes become short strings, one per aspect, that are equal when the clients did the same.

import { createHash } from "node:crypto";

import { WHOLE_BODY_MAX } from "./clients/loadstone.mjs";

/** Headers with aspects of their own. */
const APART = new Set(["host", "content-length", "transfer-encoding"]);
const INLINE_MAX = 300;

/** What arrived for a row of requests. `defaults` are the headers (`name: value`) that the client adds to a plain GET. */
export function ofRequests(recording, outcomes, defaults) {
  const all = { method: [], target: [], host: [], headers: [], order: [], spelling: [], framing: [], body: [] };
  for (const request of recording.requests) {
    const { line, headers } = readHead(request.head);
    const boundary = /boundary="?([^";]+)/i.exec(headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "")?.[1];
    const blank = (text) => recording.blank(boundary ? text.replaceAll(boundary, "BOUNDARY") : text);
    const [method, ...rest] = line.split(" ");
    all.method.push(method);
    all.target.push(short(blank(rest.slice(0, -1).join(" "))));
    all.host.push(headers.filter(([name]) => name.toLowerCase() === "host").map(([, value]) => blank(value)).join(" and ") || "none");
    const own = headers.filter(([name, value]) => !APART.has(name.toLowerCase()) && !defaults.has(`${name}: ${value}`)).map(([name, value]) => [name, blank(value)]);
    all.headers.push(short(sorted(own.map(([name, value]) => `${name.toLowerCase()}: ${value}`)).join("\n")));
    all.order.push(short(own.map(([name]) => name.toLowerCase()).join(" ")));
    all.spelling.push(short(sorted(own.map(([name]) => name)).join(" ")));
    // Boundaries differ in length.
    const framing = boundary && request.framing === `length ${request.body.length}` ? "length of the body" : request.framing;
    all.framing.push(request.incomplete ? `${framing}, incomplete` : framing);
    all.body.push(short(blank(request.body.toString("latin1"))));
  }
  const joined = Object.fromEntries(Object.entries(all).map(([name, values]) => [name, values.join(" | ")]));
  return { ...joined, connections: recording.requests.map((each) => `${each.on}${each.connection}`).join(" "), outcome: outcomes.map(result).join(" | ") };
}

/** What a client reports for a row of responses. */
export function ofResponses(recording, outcomes) {
  const [first, after] = outcomes;
  const seen = first.error !== undefined ? { outcome: "error" } : {
    outcome: "response", status: String(first.status), headers: short(reported(first.headers)), body: first.hex ?? hex(first.body),
  };
  const connections = recording.requests.map((each) => each.connection);
  seen.requests = String(recording.requests.length);
  seen.after = `${result(after)}${after.error === undefined ? ` ${hexOf(after) === "6f6b" ? "ok" : "other body"}` : ""}, ${new Set(connections).size} connections`;
  return seen;
}

const hexOf = (outcome) => outcome.hex ?? hex(outcome.body);
const result = (outcome) => (outcome === undefined || outcome.error !== undefined ? "error" : String(outcome.status));
const sorted = (list) => [...list].sort();

/** The default headers of a client, from its recording of a plain request. */
export function defaultsOf(recording) {
  return new Set(recording.requests.flatMap((request) => readHead(request.head).headers.map(([name, value]) => `${name}: ${value}`)));
}

function readHead(head) {
  const [line, ...lines] = head.split("\r\n").slice(0, -1);
  return { line, headers: lines.map((each) => [each.split(":", 1)[0], each.slice(each.indexOf(":") + 1).replace(/^ /, "")]) };
}

/** Bytes, as Latin-1, that are UTF-8 are shown as such. */
function readable(text) {
  const decoded = Buffer.from(text, "latin1").toString("utf8");
  return decoded.includes("\ufffd") ? text : decoded;
}

function short(latin1) {
  if (latin1.length <= INLINE_MAX) return readable(latin1);
  return `${latin1.length} bytes, ${createHash("sha256").update(latin1, "latin1").digest("hex").slice(0, 16)}`;
}

/** Names in lower case and sorted, repeated ones joined, as Loadstone's `headers` has them. Values are Latin-1. */
function reported(headers) {
  const joined = new Map();
  for (const [name, value] of headers) joined.set(name.toLowerCase(), joined.has(name.toLowerCase()) ? `${joined.get(name.toLowerCase())}, ${value}` : value);
  return sorted([...joined].map(([name, value]) => `${name}: ${value}`)).join("\n");
}

export function hex(body) {
  const bytes = typeof body === "string" ? Buffer.from(body, "base64") : body;
  if (bytes.length <= WHOLE_BODY_MAX) return bytes.toString("hex");
  let sum = 0;
  for (const byte of bytes) sum = (sum * 31 + byte) % 4294967296;
  return `${bytes.length} bytes, sum ${sum}`;
}
