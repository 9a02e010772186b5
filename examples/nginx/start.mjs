#!/usr/bin/env node
// Starts nginx with the files in this folder, prints its address, and stops it on Ctrl-C.
//
//   node examples/nginx/start.mjs [--port 8081]       (0: any free port)

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "../free-port.mjs";

const here = import.meta.dirname;
const START_LIMIT_MS = 20_000;
const { values: flags } = parseArgs({ options: { port: { type: "string", default: "8081" } } });

const port = Number(flags.port) || (await freePort());
const folder = mkdtempSync(join(tmpdir(), "loadstone-nginx-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

// As root, nginx would run its workers as a user that may not be able to read this checkout.
const user = process.getuid?.() === 0 ? "user root;" : "";
const template = readFileSync(join(here, "nginx.conf"), "utf8");
const values = { user, port, folder, files: join(here, "files") };
writeFileSync(join(folder, "nginx.conf"), template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]));

// Debian installs it in a folder that is not on every user's path.
const binary = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].find((path) => existsSync(path)) ?? "nginx";
const nginx = spawn(binary, ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], { stdio: ["ignore", "ignore", "inherit"] });
nginx.once("error", (error) => {
  const hint = error.code === "ENOENT" ? "it is not installed (Debian, Ubuntu: apt-get install nginx-light)" : error.message;
  console.error(`nginx did not start: ${hint}`);
  process.exit(1);
});
nginx.once("exit", (code) => process.exit(code ?? 0));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => nginx.kill("SIGTERM"));

function reachable() {
  return new Promise((resolve) => {
    const probe = connect(port, "127.0.0.1", () => resolve(true));
    probe.once("error", () => resolve(false));
    probe.once("connect", () => probe.end());
  });
}

const begun = Date.now();
while (!(await reachable())) {
  if (Date.now() - begun > START_LIMIT_MS) {
    console.error(`nginx is not responding on port ${port} after ${START_LIMIT_MS / 1000} s`);
    nginx.kill("SIGTERM");
    break;
  }
  await sleep(20);
}
console.log(`nginx: http://127.0.0.1:${port}`);
