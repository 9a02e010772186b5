// The list of the libraries in the page: which packages modules and style sheets belong to, and that the committed list is complete.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { packageOfModule, packagesOfStyle } from "../build/libraries.ts";

const ASSETS = new URL("../../crates/report/assets/", import.meta.url);

test("a module belongs to the innermost package of its path", () => {
  expect(packageOfModule("/w/web/node_modules/uplot/dist/uPlot.esm.js")).toBe("uplot");
  expect(packageOfModule("/w/web/node_modules/@a/b/node_modules/@c/d/index.js?v=1")).toBe("@c/d");
  expect(packageOfModule("/w/web/src/main.ts")).toBeUndefined();
});

test("a style sheet names packages in imports and addresses", () => {
  const style = `@import "uplot/dist/uPlot.min.css"; @import "./base.css"; src: url("@a/font/latin.woff2"), url("data:image/png;base64,aa/b"), url("/c/d.png")`;
  expect(packagesOfStyle(style)).toEqual(["uplot", "@a/font"]);
});

test("the committed list has each library of the page, with its licence", () => {
  const list: { name: string; version: string; licence: string; text: string }[] = JSON.parse(
    readFileSync(new URL("report.libraries.json", ASSETS), "utf8"),
  );
  const names = list.map((library) => library.name);
  expect(names).toEqual(expect.arrayContaining(["@fontsource-variable/hanken-grotesk", "clsx", "d3-flame-graph", "svelte", "uplot"]));
  expect(names).not.toContain("vite");
  for (const { name, version, licence, text } of list) {
    expect([name, /^\d+\.\d+\.\d+/.test(version), licence !== "", /copyright/i.test(text)]).toEqual([name, true, true, true]);
  }
});
