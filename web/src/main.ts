// The entry point: reads the embedded JSON, chooses the feed (one run, two of them, or the history), mounts the app.

import "./style/base.css";
import { mount } from "svelte";
import { screen } from "./state/screen.svelte";
import App from "./App.svelte";
import ComparisonApp from "./comparison/ComparisonApp.svelte";
import HistoryApp from "./history/HistoryApp.svelte";
import { feedOf } from "./feed/embedded";

const target = document.getElementById("page") as HTMLElement;

screen.watch();
try {
  const source = feedOf(document.getElementById("loadstone-view")?.textContent ?? "");
  if ("comparison" in source) mount(ComparisonApp, { target, props: { comparison: source.comparison } });
  else if ("feed" in source) mount(HistoryApp, { target, props: { source } });
  else mount(App, { target, props: { feed: source } });
} catch (error) {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.style.cssText = "padding: 20vh 24px; text-align: center";
  message.textContent = error instanceof Error ? error.message : String(error);
  target.replaceChildren(message);
}
