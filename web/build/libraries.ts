// Lists the libraries of others in the built page, with their licences, for the packages and the bill of materials of a release (xtask/src/dist). The
// bundler reports which modules it included, so that a library of which nothing remains is not listed. Deliberately absent: what only builds or tests the page.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

interface Library {
  name: string;
  version: string;
  /** An SPDX expression. */
  licence: string;
  text: string;
}

const PACKAGES = fileURLToPath(new URL("../node_modules/", import.meta.url));
/** The name of a package at the beginning of a path: `uplot/…`, `@fontsource-variable/hanken-grotesk/…`. */
const NAME = String.raw`((?:@[^/":]+/)?[^/":.@][^/":]*)/`;
const OF_MODULE = new RegExp(`.*/node_modules/${NAME}`);
/** Styles and fonts are no modules of the bundle. Relative paths begin with a dot. */
const OF_STYLE = new RegExp(String.raw`(?:@import\s+|url\()"${NAME}`, "g");

export function libraries(): Plugin {
  const names = new Set<string>();
  return {
    name: "libraries",
    apply: "build",
    // Before vite has replaced the addresses in a style sheet.
    enforce: "pre",
    transform(code, id) {
      if (id.endsWith(".css")) packagesOfStyle(code).forEach((name) => names.add(name));
    },
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((item) => item.type === "chunk");
      const included = chunks.flatMap((chunk) => Object.entries(chunk.modules).filter(([, module]) => module.renderedLength > 0));
      for (const [id] of included) {
        const name = packageOfModule(id);
        if (name !== undefined) names.add(name);
      }
    },
    writeBundle({ dir }) {
      const list = [...names].sort().map((name) => library(resolve(PACKAGES, name)));
      writeFileSync(resolve(dir ?? "", "libraries.json"), `${JSON.stringify(list, null, 2)}\n`);
    },
  };
}

export function packageOfModule(id: string): string | undefined {
  return OF_MODULE.exec(id)?.[1];
}

export function packagesOfStyle(style: string): string[] {
  return [...style.matchAll(OF_STYLE)].flatMap((match) => match[1] ?? []);
}

function library(folder: string): Library {
  const { name, version, license } = JSON.parse(readFileSync(resolve(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  if (!license || !file) throw new Error(`${name} is in the page, and has no licence in ${folder}`);
  return { name, version, licence: license, text: readFileSync(resolve(folder, file), "utf8").trim() };
}
