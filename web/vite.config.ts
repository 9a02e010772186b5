import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { inlineEverything } from "./build/inline.ts";
import { libraries } from "./build/libraries.ts";

/** `npm run dev` shows a fixture: http://localhost:5173/?healthy, ?failing, ?hour, ?findings. */
function fixtureInDev(): Plugin {
  return {
    name: "fixture-in-dev",
    apply: "serve",
    transformIndexHtml(html, context) {
      const name = new URL(context.originalUrl ?? "/", "http://localhost").search.slice(1) || "findings";
      const json = readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8");
      return html.replace("__LOADSTONE_VIEW__", () => json.replaceAll("<", "\\u003c"));
    },
  };
}

export default defineConfig({
  plugins: [svelte(), libraries(), fixtureInDev(), inlineEverything()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    // Fonts become part of the style sheet.
    assetsInlineLimit: 1_000_000,
  },
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    // A busy machine draws slowly. The bound prevents hanging, not slowness.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // Another program on the machine can take the CPU for seconds. Vitest reports a test that needed the retry.
    retry: 1,
    // Two browsers at a time: each mostly waits, and a file starts its own servers.
    maxWorkers: 2,
  },
});
