// A database is rarely on the machine of the service. Passes bytes on to it, each after the time they would take to get there.
// Without it a statement takes a tenth of a millisecond, and two connections are enough for any service that fits on this machine.

import { createConnection } from "node:net";

/** Time in each direction. */
const TRIP_MS = 2;

/** Connects every socket that `server` accepts with a port of this machine, over that distance. */
export function relay(server, port) {
  server.on("connection", (near) => {
    const far = createConnection({ host: "127.0.0.1", port });
    pass(near, far);
    pass(far, near);
  });
}

function pass(from, to) {
  from.setNoDelay(true);
  from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), TRIP_MS));
  from.once("close", () => setTimeout(() => to.destroy(), TRIP_MS));
  from.on("error", () => to.destroy());
}
