// `copy` copies the built page to the report crate, which embeds it; `check` compares the committed page with a fresh build.

import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const built = resolve(web, "dist/index.html");
const committed = resolve(web, "../crates/report/assets/report.html");

if (process.argv[2] === "copy") {
  mkdirSync(dirname(committed), { recursive: true });
  copyFileSync(built, committed);
  console.log(`copied to crates/report/assets/report.html (${(readFileSync(built).length / 1024).toFixed(0)} KiB)`);
} else if (!readFileSync(built).equals(readFileSync(committed))) {
  console.error("crates/report/assets/report.html does not match web/. Run `npm run assets` in web/ and commit the result.");
  process.exit(1);
} else {
  console.log("crates/report/assets/report.html matches its source");
}
