// A free TCP port of 127.0.0.1.

import { createServer } from "node:net";

/** Any free port, or the wanted one if it is free. */
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
