// Connections that do not last, as on the road: some break off without a word, on some nobody listens any more.

/** A connection that is to be lost is lost within this time of its beginning. */
const LOST_WITHIN_MS = 60_000;

/** Loses this share of connections, whichever way. */
export function loseSome(socket, { dropShare, silentShare }) {
  const draw = Math.random();
  if (draw >= dropShare + silentShare) return;
  // Not even pings are answered by a socket that is not read.
  const lose = () => (draw < dropShare ? socket.terminate() : socket.pause());
  const timer = setTimeout(lose, Math.random() * LOST_WITHIN_MS);
  socket.once("close", () => clearTimeout(timer));
}
