// A run under way: server-sent events, a whole view at first and then what changes of it. The browser reconnects by itself; the
// first view after a gap is whole again, so nothing has to be caught up.

import { checked, readJson, type Feed, type LiveSource, type Steering } from "./feed";
import { type Delta, joined } from "../data/delta";
import type { ReportView } from "../view";

export function liveFeed(source: LiveSource): Feed {
  return {
    home: source.home ?? null,
    start(onView, onConnection, onSteering) {
      const events = new EventSource(source.events);
      let current: ReportView | null = null;
      const draw = (view: ReportView) => {
        current = checked(view);
        onView(view);
        if (view.test.state !== "running") {
          events.close();
          onConnection("ended");
        }
      };
      const listen = <T>(name: string, take: (data: T) => void) => events.addEventListener(name, (event) => take(readJson((event as MessageEvent<string>).data) as T));
      events.addEventListener("open", () => onConnection("open"));
      events.addEventListener("error", () => onConnection(events.readyState === EventSource.CLOSED ? "ended" : "lost"));
      listen<ReportView>("view", draw);
      listen<Delta>("delta", (delta) => { if (current) draw(joined(current, delta)); });
      listen<Steering>("steering", onSteering);
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
