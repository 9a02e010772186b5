// Node: `http.request`, which sends what it is asked for, or `fetch`, where a row needs redirects, forms or content encodings. Prints the outcomes as JSON.

import http from "node:http";
import { readFileSync } from "node:fs";

const TIMEOUT_MS = 2500;

const rows = JSON.parse(readFileSync(process.argv[2], "utf8"));
const outcomes = {};
for (const row of rows) {
  const agent = new http.Agent({ keepAlive: true });
  outcomes[row.id] = [];
  for (const step of row.steps) {
    const send = row.fetch || step.redirects || step.form || step.multipart ? byFetch : byHttp;
    const outcome = await send(step, agent).catch((error) => ({ error: String(error.cause ?? error) }));
    outcomes[row.id].push(outcome);
    if (row.pauseMs) await new Promise((resolve) => setTimeout(resolve, row.pauseMs));
  }
  agent.destroy();
}
process.stdout.write(JSON.stringify(outcomes));
// fetch keeps its connections open.
setTimeout(() => process.exit(0), 50);

function url(step) {
  if (!step.query) return step.url;
  const whole = new URL(step.url);
  for (const [name, value] of step.query) whole.searchParams.append(name, value);
  return whole;
}

function byHttp(step, agent) {
  return new Promise((resolve, reject) => {
    const request = http.request(url(step), { method: step.method, agent, auth: step.auth?.join(":"), signal: AbortSignal.timeout(TIMEOUT_MS) });
    request.on("error", reject);
    request.on("close", () => setTimeout(reject, 300, new Error("closed without a response")));
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode, headers: [], body: "" });
    });
    request.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const headers = [];
        for (let i = 0; i < response.rawHeaders.length; i += 2) headers.push([response.rawHeaders[i], response.rawHeaders[i + 1]]);
        // The agent has the connection back one turn later.
        setTimeout(resolve, 2, { status: response.statusCode, headers, body: Buffer.concat(chunks).toString("base64") });
      });
    });
    const given = new Map();
    for (const [name, value] of step.headers) {
      const values = given.get(name.toLowerCase()) ?? [name, []];
      values[1].push(value);
      given.set(name.toLowerCase(), values);
    }
    for (const [name, values] of given.values()) request.setHeader(name, values.length > 1 ? values : values[0]);
    if (step.trailers) {
      request.setHeader("Transfer-Encoding", "chunked");
      request.setHeader("Trailer", [...new Set(step.trailers.map(([name]) => name))].join(", "));
      request.addTrailers(step.trailers);
    }
    request.end(step.body === undefined ? undefined : Buffer.from(step.body, "base64"));
  });
}

async function byFetch(step) {
  const headers = step.headers.map(([name, value]) => [name, value]);
  if (step.auth) headers.push(["Authorization", `Basic ${Buffer.from(step.auth.join(":")).toString("base64")}`]);
  const response = await fetch(url(step), {
    method: step.method,
    headers,
    body: content(step),
    redirect: step.redirects ? "follow" : "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const body = Buffer.from(await response.arrayBuffer()).toString("base64");
  return { status: response.status, headers: [...response.headers], body };
}

function content(step) {
  if (step.form) return new URLSearchParams(step.form);
  if (!step.multipart) return step.body === undefined ? undefined : asText(Buffer.from(step.body, "base64"));
  const form = new FormData();
  for (const part of step.multipart) {
    if (part.filename === undefined) form.append(part.name, part.value);
    else form.append(part.name, new File([Buffer.from(part.content, "base64")], part.filename, { type: part.type }));
  }
  return form;
}

/** fetch of Node 20 cannot send bytes again after a redirect: it has detached their buffer. */
function asText(bytes) {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : bytes;
}
