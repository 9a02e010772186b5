// Connections that do not last, as in a moving bus: some break without notice, others go silent.

/** A connection that will be lost is lost within this time of opening. */
const LOST_WITHIN_MS = 60_000;

/** Loses this share of connections, one way or the other. */
export function loseSome(socket, { dropShare, silentShare }) {
  const draw = Math.random();
  if (draw >= dropShare + silentShare) return;
  // A socket that is not read does not even answer pings.
  const lose = () => (draw < dropShare ? socket.terminate() : socket.pause());
  const timer = setTimeout(lose, Math.random() * LOST_WITHIN_MS);
  socket.once("close", () => clearTimeout(timer));
}
