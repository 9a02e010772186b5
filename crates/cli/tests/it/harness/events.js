// A server of events for the tests: see `events` in server.rs.
const server = require("http").createServer((request, response) => {
  const last = Number(request.headers["last-event-id"] ?? 0);
  const path = request.url.split("?")[0];
  if (path === "/nothing") return response.end("no stream");
  const leadsTo = { "/moved": [302, "/prices"], "/seen": [303, "/method"], "/kept": [307, "/echo"], "/loop": [302, "/loop"] }[path];
  if (leadsTo) return response.writeHead(leadsTo[0], { location: leadsTo[1] }).end();
  if (path === "/once" && last > 0) return response.writeHead(204).end();
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (path === "/once") return response.end("retry: 10\nid: 1\ndata: only\n\n");
  if (path === "/broken") {
    response.write("retry: 10\nid: 1\ndata: before the break\n\n");
    return setTimeout(() => response.destroy(), 20);
  }
  if (path === "/method") return response.end(`data: ${request.method}\n\n`);
  if (path === "/silent") return response.flushHeaders();
  if (path === "/echo") return request.on("data", (body) => response.end(`data: ${request.method} ${body}\n\n`));
  response.write("retry: 10\n: a comment\n\n");
  for (let id = last + 1; id <= last + 3; id++) {
    response.write(`id: ${id}\nevent: price\ndata: {"product":${id},\ndata: "who":"${request.headers["x-who"] ?? "nobody"}"}\n\n`);
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`events: http://127.0.0.1:${server.address().port}`));
