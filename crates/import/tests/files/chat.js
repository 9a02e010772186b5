import ws from "k6/ws";
import { check } from "k6";
import { WebSocket } from "k6/websockets";

const URL = __ENV.CHAT_URL || "ws://127.0.0.1:9/websocket/echo";

export const options = {
  scenarios: {
    events: { executor: "per-vu-iterations", exec: "events", vus: 2, iterations: 2 },
    callbacks: { executor: "shared-iterations", exec: "callbacks", iterations: 2 },
  },
};

export function events() {
  const socket = new WebSocket(URL);
  socket.onopen = () => socket.send(`hello ${__VU}`);
  socket.addEventListener("message", (event) => {
    check(event.data, { "event echoed": (data) => data.startsWith("hello") });
    socket.close();
  });
}

export function callbacks() {
  const answer = ws.connect(URL, { headers: { "x-who": "k6" } }, function (socket) {
    socket.on("open", () => socket.send("ping"));
    socket.on("message", (text) => {
      check(text, { "text echoed": (t) => t === "ping" });
      socket.close();
    });
  });
  check(answer, { "opened": (r) => r && r.status === 101 });
}
