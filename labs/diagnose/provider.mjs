// The payment provider that every shop calls: 5 ms, unless the fault says that it is slower, for some calls, or from an instant on. What goes wrong
// beside the services begins here, too, since the first purchase tells when the load has begun.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

const { dependency = {}, flush, neighbour } = JSON.parse(process.env.FAULT ?? "{}");
const { ms = 5, share = 1, from = 0, exponential = false, places = Infinity } = dependency;
const waiting = [];
let [first, busy] = [undefined, 0];

function begin() {
  first = performance.now();
  if (flush) setTimeout(() => writeFileSync(process.env.FLUSH_FILE, `${flush.ms}`), (flush.from ?? 0) * 1000);
  if (neighbour) setTimeout(() => compute(neighbour.cores ?? availableParallelism()), (neighbour.from ?? 0) * 1000);
}

/** A neighbour ends by itself, should nobody be left to end it. */
const LAST_MS = 60_000;

/** Other programs of the machine that use so many cores: nobody's children, or whoever observes this process would count them as part of it. */
function compute(cores) {
  const program = `for (const end = Date.now() + ${LAST_MS}; Date.now() < end; );`;
  const leave = ["-c", '"$0" -e "$1" >/dev/null 2>&1 & echo $!', process.execPath, program];
  const others = Array.from({ length: cores }, () => Number(execFileSync("sh", leave, { encoding: "utf8" })));
  process.on("exit", () => others.forEach((pid) => process.kill(pid, "SIGKILL")));
}

/** It works on so many calls at a time; it does not see that a caller has given up. */
async function served(work) {
  if (busy < places) busy++;
  else await new Promise((resolve) => waiting.push(resolve));
  await work();
  const next = waiting.shift();
  if (next) next();
  else busy--;
}

const server = http.createServer(async (request, response) => {
  if (first === undefined) begin();
  const slow = performance.now() - first >= from * 1000 && Math.random() < share;
  await served(() => sleep(slow ? (exponential ? -Math.log(1 - Math.random()) * ms : ms) : 5));
  response.writeHead(200, { "content-length": 2 });
  response.end("ok");
});
process.on("SIGTERM", () => process.exit(0));
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => console.log(`listening ${server.address().port}`));
