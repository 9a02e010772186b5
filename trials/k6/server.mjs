// A server that records every request and answers by path. Both tools send to it, one after the other.
import http from "node:http";

const PAGE = `<html><head><title>Shop</title></head><body><form action="/form" method="post"><input name="user" value="ann">
<input type="submit" name="go" value="Go"></form><ul><li class="a">One</li><li>Two</li></ul><a href="/next?p=2">next</a></body></html>`;
const LIST = JSON.stringify({ id: 7, name: "x", list: [{ n: 1, s: "a" }, { n: 2, s: "b" }], nested: { deep: { value: true } }, none: null });

const answers = {
  json: (_, response) => send(response, 200, "application/json", LIST),
  page: (_, response) => send(response, 200, "text/html", PAGE),
  bytes: (_, response) => send(response, 200, "application/octet-stream", Buffer.from([0, 1, 254, 255])),
  status: ({ parts }, response) => send(response, Number(parts[1]), "text/plain", `status ${parts[1]}`),
  redirect: ({ parts, query }, response) => {
    const left = Number(parts[1]);
    response.setHeader("Location", left > 1 ? `/redirect/${left - 1}?status=${query.get("status") ?? 302}` : "/json");
    send(response, Number(query.get("status") ?? 302), "text/plain", "");
  },
  cookies: ({ query }, response) => {
    response.setHeader("Set-Cookie", [...query].map(([name, value]) => `${name}=${value}`));
    send(response, 200, "text/plain", "set");
  },
  headers: ({ query }, response) => {
    for (const name of new Set(query.keys())) response.setHeader(name, query.getAll(name));
    send(response, 200, "text/plain", "headers");
  },
  delay: ({ parts }, response) => setTimeout(() => send(response, 200, "text/plain", "late"), Number(parts[1])),
  close: (_, response) => response.socket.destroy(),
  basic: ({ request }, response) => {
    const known = request.headers.authorization === `Basic ${Buffer.from("ann:secret").toString("base64")}`;
    send(response, known ? 200 : 401, "text/plain", known ? "welcome" : "no");
  },
};

function send(response, status, type, body) {
  response.statusCode = status;
  if (type) response.setHeader("Content-Type", type);
  response.end(body);
}

const VOLATILE = ["host", "user-agent", "connection"];

/** What both tools must send alike. */
function recorded(request, body) {
  const headers = [];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at].toLowerCase();
    // Go sends cookies and parts of forms in random order.
    const value = name === "cookie" ? request.rawHeaders[at + 1].split("; ").sort().join("; ") : request.rawHeaders[at + 1];
    if (!VOLATILE.includes(name)) headers.push(`${name}: ${value}`);
  }
  const boundary = /boundary=([^;\r\n]+)/.exec(request.headers["content-type"] ?? "")?.[1];
  const plain = (text) => (boundary ? text.replaceAll(boundary, "BOUNDARY") : text);
  const text = plain(body.toString("latin1"));
  const content = boundary ? text.split("--BOUNDARY").sort().join("--BOUNDARY") : text;
  return plain([`${request.method} ${request.url}`, ...headers.sort(), "", content].join("\n")).replace(
    /^content-length: \d+$/m,
    boundary ? "content-length: N" : "$&",
  );
}

/** Starts it. `take()` returns the requests since the last call. */
export async function start() {
  let requests = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      requests.push(recorded(request, body));
      const url = new URL(request.url, "http://server");
      const parts = url.pathname.slice(1).split("/");
      const echo = () => {
        const { host, "user-agent": agent, connection, ...headers } = request.headers;
        if (headers.cookie) headers.cookie = headers.cookie.split("; ").sort().join("; ");
        send(response, 200, "application/json", JSON.stringify({ method: request.method, url: request.url, headers, body: body.toString("latin1") }));
      };
      (answers[parts[0]] ?? echo)({ request, parts, query: url.searchParams, body }, response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    take: () => requests.splice(0),
    stop: () => (server.closeAllConnections(), server.close()),
  };
}
