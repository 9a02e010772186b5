// Colours of series, for both themes. Readers with common colour deficiencies can distinguish them: hues after Okabe and Ito, which also differ in
// lightness. Percentiles are ordered from cool to warm.

export type Theme = "light" | "dark";
type ThemePair = readonly [light: string, dark: string];

const CATEGORIES: ThemePair[] = [
  ["#14727f", "#56bfcc"], ["#d9822b", "#f0a75a"], ["#6a5acd", "#a79cf5"], ["#c2477f", "#ee8cb8"],
  ["#5b8c2a", "#9fcb6b"], ["#2f74c0", "#7db4f0"], ["#8c6d46", "#cbab82"], ["#7a8791", "#97a5b0"],
];

const NAMED: Record<string, ThemePair> = {
  "rate/asked": ["#17222b", "#e8eef1"],
  "rate/achieved": ["#14727f", "#56bfcc"],
  "rate/ended": ["#5b8c2a", "#9fcb6b"],
  "rate/requests": ["#6a5acd", "#a79cf5"],
  "rate/failures": ["#c8502f", "#f08a6c"],
  "users/asked": ["#17222b", "#e8eef1"],
  "response/p50": ["#2f74c0", "#7db4f0"],
  "response/p75": ["#14828f", "#56bfcc"],
  "response/p90": ["#5b8c2a", "#9fcb6b"],
  "response/p95": ["#d9822b", "#f0a75a"],
  "response/p99": ["#b0301c", "#ff917d"],
  "response/p99.9": ["#7a3d73", "#d69bcf"],
  "response/max": ["#b4bdc4", "#54626d"],
  "failures/status": ["#c8502f", "#f08a6c"],
  "failures/expect": ["#e0a030", "#f2c76a"],
  "failures/timeout": ["#7d2f68", "#d387bf"],
  "failures/refused": ["#5458a8", "#9da1ee"],
  "failures/reset": ["#2f74c0", "#7db4f0"],
  "failures/script": ["#8c6d46", "#cbab82"],
  "failures/step": ["#7a8791", "#97a5b0"],
  "phases/lag": ["#c8502f", "#f08a6c"],
  "phases/other": ["#b4bdc4", "#54626d"],
  "phases/queue": ["#c2477f", "#ee8cb8"],
  "phases/dns": ["#b99a1f", "#dcc25c"],
  "phases/connect": ["#d9822b", "#f0a75a"],
  "phases/tls": ["#6a5acd", "#a79cf5"],
  "phases/wait": ["#14727f", "#56bfcc"],
  "phases/body": ["#84bcc3", "#2f7681"],
};

export const PHASE_NAMES = ["queue", "dns", "connect", "tls", "wait", "body"] as const;

/** Colour of a column; `index` is its position in its panel. */
export function colour(columnId: string, index: number, theme: Theme): string {
  // The other run of an overlay: one hue for all its lines, which differ by dashes and position.
  if (columnId.startsWith("other/")) return theme === "light" ? "#c8502f" : "#f08a6c";
  const pair = NAMED[columnId] ?? (CATEGORIES[index % CATEGORIES.length] as ThemePair);
  return pair[theme === "light" ? 0 : 1];
}

/** `#rrggbb` with an opacity from 0 to 1. */
export function faded(hex: string, opacity: number): string {
  return `${hex}${Math.round(opacity * 255).toString(16).padStart(2, "0")}`;
}

export interface Ink {
  text: string;
  faint: string;
  grid: string;
  mark: string;
  warning: string;
  finding: string;
  change: string;
  /** The bound of a threshold. */
  bound: string;
  paper: string;
  highlight: string;
  highlightEdge: string;
}

export const INK: Record<Theme, Ink> = {
  light: {
    text: "#55636f", faint: "#9aa6b0", grid: "#e9edf0", mark: "#9aa6b0", warning: "#b26a00", finding: "#d1553b", change: "#4d5b67",
    bound: "#b0301c",
    paper: "#ffffff", highlight: "#d1553b14", highlightEdge: "#d1553b80",
  },
  dark: {
    text: "#9fadb8", faint: "#60707c", grid: "#202a32", mark: "#60707c", warning: "#e6b450", finding: "#ff8a6c", change: "#aab7c1",
    bound: "#ff917d",
    paper: "#0f1519", highlight: "#ff8a6c1f", highlightEdge: "#ff8a6c80",
  },
};

/** Heat from few to many, `share` from 0 to 1: pale to deep on paper, dim to bright on dark. */
export function heat(share: number, theme: Theme): string {
  const stops: [number, number, number][] =
    theme === "light" ? [[226, 240, 241], [122, 189, 196], [20, 114, 127], [8, 44, 58]] : [[22, 44, 54], [28, 104, 116], [86, 191, 204], [226, 250, 240]];
  const at = Math.min(0.9999, Math.max(0, share)) * (stops.length - 1);
  const [a, b] = [stops[Math.floor(at)], stops[Math.floor(at) + 1]] as [number[], number[]];
  const mix = a.map((from, i) => Math.round(from + ((b[i] as number) - from) * (at % 1)));
  return `rgb(${mix.join(",")})`;
}
