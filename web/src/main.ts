// Where the page begins: reads the embedded JSON, chooses the feed, mounts the app.

import "./style/base.css";
import { mount } from "svelte";
import { screen } from "./state/screen.svelte";
import App from "./App.svelte";
import { feedOf } from "./feed/feed";

const target = document.getElementById("page") as HTMLElement;

screen.watch();
try {
  mount(App, { target, props: { feed: feedOf(document.getElementById("loadstone-view")?.textContent ?? "") } });
} catch (error) {
  const message = document.createElement("p");
  message.setAttribute("role", "alert");
  message.style.cssText = "padding: 20vh 24px; text-align: center";
  message.textContent = error instanceof Error ? error.message : String(error);
  target.replaceChildren(message);
}
