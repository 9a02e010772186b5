// The document around the page: its theme, whether it is being printed, whether its font has loaded. There is one per document, so it is a single
// value and not a context.

import { flushSync } from "svelte";

export type ThemeChoice = "auto" | "light" | "dark";

const KEY = "loadstone-theme";

class Screen {
  choice: ThemeChoice = $state("auto");
  systemDark = $state(false);
  printing = $state(false);
  /** Words and numbers are visible; charts may take their time now. */
  painted = $state(false);
  /** Canvases use the page's font only once it has loaded. */
  fontReady = $state(false);

  dark = $derived(!this.printing && (this.choice === "auto" ? this.systemDark : this.choice === "dark"));

  /** Follows the browser from now on. Called once, when the page starts. */
  watch(): void {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.systemDark = dark.matches;
    dark.addEventListener("change", () => (this.systemDark = dark.matches));
    // The browser captures the page right after the event, so everything for the paper must be drawn at once.
    addEventListener("beforeprint", () => flushSync(() => (this.printing = true)));
    addEventListener("afterprint", () => (this.printing = false));
    this.choice = remembered();
    $effect.root(() => {
      $effect.pre(() => {
        document.documentElement.dataset.theme = this.dark ? "dark" : "light";
      });
      $effect(() => remember(this.choice));
    });
    // The first frame after this one shows the text; the task after that frame draws the charts.
    requestAnimationFrame(() => setTimeout(() => (this.painted = true)));
    void document.fonts.load(`12px "Hanken Grotesk Variable"`).then(() => (this.fontReady = true));
  }
}

// A page opened from disk may have no storage. The choice then lasts as long as the page.
function remembered(): ThemeChoice {
  try {
    const choice = localStorage.getItem(KEY);
    return choice === "light" || choice === "dark" ? choice : "auto";
  } catch {
    return "auto";
  }
}

function remember(choice: ThemeChoice): void {
  try {
    if (choice === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // See `remembered`.
  }
}

export const screen = new Screen();
