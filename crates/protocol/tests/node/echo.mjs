// Echoes every message. Prints its port on a separate line, and ends when its standard input ends.
import { WebSocketServer } from "ws";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: { threshold: 0 } });
server.on("connection", (socket) => socket.on("message", (message, binary) => socket.send(message, { binary })));
server.on("listening", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
