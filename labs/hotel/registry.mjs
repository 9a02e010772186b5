// The part of Consul's HTTP API that hotelReservation uses: services register, and clients wait for changes of the addresses of a service.
// It replaces Consul, which hotelReservation's services reach at `consulAddress` of their config.json.

import { createServer } from "node:http";

const PORT = Number(process.env.PORT ?? 8500);
/** Consul's own default for a blocking query. */
const WAIT_MS = 300_000;

/** Addresses by service; a service that starts again at the same address does not appear twice. */
const addresses = new Map();
let index = 1;
let waiting = [];

function register({ Name: name, Address: address, Port: port }) {
  const known = addresses.get(name) ?? new Map();
  addresses.set(name, known);
  if (known.has(`${address}:${port}`)) return;
  known.set(`${address}:${port}`, { Node: { Address: address }, Service: { Service: name, Address: address, Port: port } });
  index += 1;
  for (const answer of waiting) answer();
  waiting = [];
}

function health(name, response) {
  response.writeHead(200, { "content-type": "application/json", "x-consul-index": String(index) });
  response.end(JSON.stringify([...(addresses.get(name)?.values() ?? [])]));
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://registry");
  if (request.method === "PUT" && url.pathname === "/v1/agent/service/register") {
    register(JSON.parse(await body(request)));
    response.end();
  } else if (url.pathname.startsWith("/v1/health/service/")) {
    const name = url.pathname.split("/").at(-1);
    if (Number(url.searchParams.get("index") ?? 0) < index) return health(name, response);
    const timer = setTimeout(() => health(name, response), WAIT_MS);
    response.on("close", () => clearTimeout(timer));
    waiting.push(() => health(name, response));
  } else if (request.method === "PUT" && url.pathname.startsWith("/v1/agent/service/deregister/")) {
    response.end();
  } else {
    response.writeHead(404).end();
  }
});
server.requestTimeout = 0;
server.listen(PORT, "127.0.0.1");
