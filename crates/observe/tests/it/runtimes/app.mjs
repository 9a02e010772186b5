// A service on Node for the tests of its observer. /hold keeps all four of libuv's threads, /lookups has names looked up behind them, /meter says what of
// an observer is in the process.
import dns from "node:dns";
import fs from "node:fs";
import http from "node:http";
import inspector from "node:inspector";

const held = process.env.FIFO;

function computesALot(ms) {
  const end = performance.now() + ms;
  let rounds = 0;
  while (performance.now() < end) rounds++;
  return rounds;
}

function handle(request, response) {
  const { pathname } = new URL(request.url, "http://app");
  if (pathname === "/hold") for (let thread = 0; thread < 4; thread++) fs.readFile(held, () => {});
  if (pathname === "/lookups") for (let name = 0; name < 30; name++) dns.lookup("localhost", () => {});
  if (pathname === "/compute") setInterval(() => computesALot(40), 50);
  const meter = globalThis[Symbol.for("loadstone.meter")] !== undefined;
  response.end(JSON.stringify({ meter, inspector: inspector.url() ?? null }));
}

const server = http.createServer(handle).listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening", server.address().port));
