// The payment provider that every shop calls: 5 ms, unless the fault says that it is slower, for some calls, or from an instant on.

import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const { dependency = {} } = JSON.parse(process.env.FAULT ?? "{}");
const { ms = 5, share = 1, from = 0, exponential = false } = dependency;
let first;

const server = http.createServer(async (request, response) => {
  first ??= performance.now();
  const slow = performance.now() - first >= from * 1000 && Math.random() < share;
  await sleep(slow ? (exponential ? -Math.log(1 - Math.random()) * ms : ms) : 5);
  response.writeHead(200, { "content-length": 2 });
  response.end("ok");
});
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => console.log(`listening ${server.address().port}`));
