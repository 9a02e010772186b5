// `copy` copies the built page to the report crate, which embeds it, with the list of the libraries in it; `check` compares the committed files with a
// fresh build.

import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const files = [
  ["index.html", "report.html"],
  ["libraries.json", "report.libraries.json"],
];

for (const [name, asset] of files) {
  const built = resolve(web, "dist", name);
  const committed = resolve(web, "../crates/report/assets", asset);
  if (process.argv[2] === "copy") {
    mkdirSync(dirname(committed), { recursive: true });
    copyFileSync(built, committed);
    console.log(`copied to crates/report/assets/${asset} (${(readFileSync(built).length / 1024).toFixed(0)} KiB)`);
  } else if (!readFileSync(built).equals(readFileSync(committed))) {
    console.error(`crates/report/assets/${asset} does not match web/. Run \`npm run assets\` in web/ and commit the result.`);
    process.exit(1);
  } else {
    console.log(`crates/report/assets/${asset} matches its source`);
  }
}
