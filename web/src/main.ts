// The entry point: reads the embedded JSON, chooses what to draw (one run, an answer from several runs, or the history), mounts the app.

import "./style/base.css";
import { mount } from "svelte";
import { screen } from "./state/screen.svelte";
import Answer from "./answers/Answer.svelte";
import App from "./App.svelte";
import HistoryApp from "./history/HistoryApp.svelte";
import { feedOf } from "./feed/embedded";

const target = document.getElementById("page") as HTMLElement;

screen.watch();
try {
  const source = feedOf(document.getElementById("loadstone-view")?.textContent ?? "");
  if ("answer" in source) mount(Answer, { target, props: { source } });
  else if ("feed" in source) mount(HistoryApp, { target, props: { source } });
  else mount(App, { target, props: { feed: source } });
} catch (error) {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.style.cssText = "padding: 20vh 24px; text-align: center";
  message.textContent = error instanceof Error ? error.message : String(error);
  target.replaceChildren(message);
}
