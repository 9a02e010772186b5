// A TCP proxy between the shop and its database. It passes bytes on at once, and from an instant on it delays what the server sends.

import { connect, createServer } from "node:net";

/** Listens on a free port. The delay of `ms` begins `from` seconds after the first bytes of a client. */
export async function startProxy(parts, target, { ms, from }) {
  let first;
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
    // Timers of equal length end in their order, so the bytes stay in theirs.
    const later = (pass) => {
      const isSlow = first !== undefined && performance.now() - first >= from * 1000;
      isSlow ? setTimeout(pass, ms) : pass();
    };
    client.on("data", (bytes) => {
      first ??= performance.now();
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => later(() => client.write(bytes)));
    upstream.on("end", () => later(() => client.end()));
    client.on("end", () => upstream.end());
    for (const [socket, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => sockets.delete(socket));
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  parts.add(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return server.address().port;
}
