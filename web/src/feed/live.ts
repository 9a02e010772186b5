// A run in progress, as server-sent events: first a complete view, then differences. The browser reconnects by itself. The first view after a gap is
// complete again, so that nothing has to be resent.

import type { Delta, LiveSource, ReportView, Steering } from "../generated/report";
import { joined } from "./delta";
import type { Feed } from "./feed";
import { checked, readJson } from "./read";

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
      const listen = <T>(name: string, take: (data: T) => void) =>
        events.addEventListener(name, (event) => take(readJson((event as MessageEvent<string>).data) as T));
      events.addEventListener("open", () => onConnection("open"));
      events.addEventListener("error", () => onConnection(events.readyState === EventSource.CLOSED ? "ended" : "lost"));
      listen<ReportView>("view", draw);
      listen<Delta>("delta", (delta) => { if (current) draw(joined(current, delta)); });
      listen<Steering>("steering", onSteering);
      return () => events.close();
    },
    // Without the token from the terminal's address, this page can only watch.
    controls: source.token === "" ? null : {
      async send(action, value) {
        const response = await fetch(source.control, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ token: source.token, action, ...(value === undefined ? {} : { value }) }),
        });
        if (!response.ok) throw new Error((await response.text()) || `The run refused the command: status ${response.status}`);
      },
    },
  };
}
