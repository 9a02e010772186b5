// A run under way: server-sent events, each a whole view. The browser reconnects by itself; the view after a gap is
// whole again, so nothing has to be caught up.

import { checked, readJson, type Feed, type LiveSource } from "./feed";
import type { ReportView } from "../view";

export function liveFeed(source: LiveSource): Feed {
  return {
    home: source.home ?? null,
    start(onView, onConnection) {
      const events = new EventSource(source.events);
      events.addEventListener("open", () => onConnection("open"));
      events.addEventListener("error", () => onConnection(events.readyState === EventSource.CLOSED ? "ended" : "lost"));
      events.addEventListener("view", (event) => {
        const view = checked(readJson((event as MessageEvent<string>).data) as ReportView);
        onView(view);
        if (view.test.state !== "running") {
          events.close();
          onConnection("ended");
        }
      });
      return () => events.close();
    },
    // Without the token that stands in the terminal's address, this page may only watch.
    controls: source.token === "" ? null : {
      async send(action, value) {
        const answer = await fetch(source.control, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ token: source.token, action, ...(value === undefined ? {} : { value }) }),
        });
        if (!answer.ok) throw new Error((await answer.text()) || `The run refused: status ${answer.status}`);
      },
    },
  };
}
