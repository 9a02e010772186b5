// A TCP port of 127.0.0.1 that nobody listens on at the moment.

import { createServer } from "node:net";

/** Any one; or the wanted one, where it is free. */
export function freePort(wanted = 0) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => reject(error.code === "EADDRINUSE" ? new Error(`port ${wanted} is in use: give others with --port, or --port 0`) : error));
    probe.listen(wanted, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
