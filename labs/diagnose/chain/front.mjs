// The first of two services: it passes every request on to the shop and its answer back, over connections that it keeps.

import http from "node:http";

const { sockets = Infinity, bandwidth } = JSON.parse(process.env.FAULT ?? "{}");
const agent = new http.Agent({ keepAlive: true, maxSockets: sockets });
const PACKET = 16_384;
const upstream = new URL(process.env.UPSTREAM_URL);

/** The network to the visitors carries so many bytes a second, one packet after another. */
let free = 0;
async function slowly(answer, response) {
  for await (const chunk of answer) {
    for (let at = 0; at < chunk.length; at += PACKET) {
      const part = chunk.subarray(at, at + PACKET);
      const now = performance.now();
      free = Math.max(free, now) + (part.length / bandwidth) * 1000;
      await new Promise((resolve) => setTimeout(resolve, free - now));
      response.write(part);
    }
  }
  response.end();
}

const server = http.createServer((request, response) => {
  const { method, url: path, headers } = request;
  const call = http.request({ host: upstream.hostname, port: upstream.port, method, path, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode, { "content-type": answer.headers["content-type"], "content-length": answer.headers["content-length"] });
    if (bandwidth) slowly(answer, response);
    else answer.pipe(response);
  });
  call.once("error", () => {
    if (!response.headersSent) response.writeHead(502, { "content-length": 0 });
    response.end();
  });
  request.pipe(call);
});
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => console.log(`listening ${server.address().port}`));
