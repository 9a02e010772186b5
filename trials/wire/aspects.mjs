// What is compared. Raw recordings and the clients' outcomes become short strings, one per aspect, that are equal when the clients did the same.

import { createHash } from "node:crypto";

import { WHOLE_BODY_MAX } from "./clients/loadstone.mjs";

/** Headers with separate aspects. */
const APART = new Set(["host", "content-length", "transfer-encoding"]);
const INLINE_MAX = 400;

/** What arrived for a row of requests. `defaults` are the headers (`name: value`) that the client adds to a plain GET. */
export function ofRequests(recording, outcomes, defaults) {
  const all = { method: [], target: [], host: [], headers: [], names: [], framing: [], body: [] };
  for (const request of recording.requests) {
    const { line, headers } = readHead(request.head);
    const boundary = /boundary="?([^";]+)/i.exec(headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "")?.[1];
    const blank = (text) => recording.blank(boundary ? text.replaceAll(boundary, "BOUNDARY") : text);
    const [method, ...rest] = line.split(" ");
    all.method.push(method);
    all.target.push(short(blank(rest.slice(0, -1).join(" "))));
    all.host.push(headers.filter(([name]) => name.toLowerCase() === "host").map(([, value]) => blank(value) || "empty").join(" and ") || "none");
    const isOwn = ([name, value]) => !APART.has(name.toLowerCase()) && !defaults.has(`${name}: ${value}`);
    const own = headers.filter(isOwn).map(([name, value]) => [name, blank(value)]);
    all.headers.push(short(sorted(own.map(([name, value]) => `${name.toLowerCase()}: ${value}`)).join("\n")));
    all.names.push(own.map(([name]) => readable(name)).join(" "));
    // Boundaries differ in length.
    const framing = boundary && request.framing === `length ${request.body.length}` ? "length of the body" : request.framing;
    all.framing.push(request.incomplete ? `${framing}, incomplete` : framing);
    const trailers = request.trailers ? `\ntrailers ${request.trailers}` : "";
    all.body.push(short(blank(request.body.toString("latin1") + trailers)));
  }
  const joined = Object.fromEntries(Object.entries(all).map(([name, values]) => [name, values.join(" | ")]));
  return { ...joined, connections: recording.requests.map((each) => `${each.on}${each.connection}`).join(" "), outcome: outcomes.map(result).join(" | ") };
}

/**
 * The aspects in which two clients differ, as `[aspect, ours, theirs]`. Where one sent more requests, or reported an error, nothing else is compared. Order and
 * spelling are those of the headers that both sent.
 */
export function differingAspects(ours, theirs, isResponse, isOfClient) {
  const differing = [];
  let compared = 0;
  const see = (aspect, a = ours[aspect], b = theirs[aspect]) => {
    compared++;
    if (a !== b) differing.push([aspect, a, b]);
  };
  see("outcome");
  see(isResponse ? "after" : "connections");
  const count = (side) => side.connections.split(" ").filter(Boolean).length;
  const same = isResponse ? [ours, theirs].every((side) => side.outcome === "response") : count(ours) === count(theirs) && count(ours) > 0;
  if (isResponse) see("requests");
  if (same) {
    see("headers", ...withoutOwnOfClient(ours.headers, theirs.headers, isOfClient));
    for (const aspect of isResponse ? ["status", "body"] : ["method", "target", "host", "framing", "body"]) see(aspect);
    if (!isResponse) {
      const [a, b] = commonNames(ours.names, theirs.names);
      see("order", a.toLowerCase(), b.toLowerCase());
      see("spelling", sorted(a.split(" ")).join(" "), sorted(b.split(" ")).join(" "));
    }
  }
  return { compared, differing };
}

/** Both sides without the headers that only one has, and that this client adds or hides by its nature (`isOfClient`). */
function withoutOwnOfClient(ours, theirs, isOfClient) {
  const sides = [ours, theirs].map((headers) => headers.split(" | ").map((each) => each.split("\n")));
  return sides.map((mine, side) => mine.map((lines, index) => {
    const names = new Set(sides[1 - side][index]?.map((line) => line.split(":")[0]));
    return lines.filter((line) => names.has(line.split(":")[0]) || !isOfClient(line.split(":")[0])).join("\n");
  }).join(" | "));
}

function commonNames(ours, theirs) {
  const requests = [ours, theirs].map((names) => names.split(" | ").map((each) => each.split(" ")));
  const filtered = requests.map((mine, side) => mine.map((names, index) => {
    const other = new Set(requests[1 - side][index]?.map((name) => name.toLowerCase()));
    return names.filter((name) => other.has(name.toLowerCase())).join(" ");
  }));
  return filtered.map((each) => each.join(" | "));
}

/** What a client reports for a row of responses. */
export function ofResponses(recording, outcomes) {
  const [first, after] = outcomes;
  const seen = first.error !== undefined ? { outcome: "error" } : {
    outcome: "response", status: String(first.status), headers: short(reported(first.headers)), body: first.hex ?? hex(first.body),
  };
  const connections = recording.requests.map((each) => each.connection);
  seen.requests = String(recording.requests.length);
  const bodyAfter = after.error === undefined ? ` ${(after.hex ?? hex(after.body)) === "6f6b" ? "ok" : "other body"}` : "";
  seen.after = `${result(after)}${bodyAfter}, ${new Set(connections).size} connections`;
  return seen;
}

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
