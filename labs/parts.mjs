// What the start command of every lab does: install its packages, start its parts one after another, and stop them in reverse
// at the end, on Ctrl-C, or when one of them breaks.

import { execFileSync, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";

const START_LIMIT_MS = 30_000;

/** Installs the npm packages of a lab, unless they are there. */
export function installPackages(folder) {
  if (existsSync(join(folder, "node_modules"))) return;
  console.error(`installing the packages of ${basename(folder)} (npm ci)`);
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}

/** The parts of a running lab. */
export class Parts {
  #stops = [];
  #stopping = false;

  constructor() {
    // Before anything starts, so that a signal in the middle leaves nothing behind.
    process.on("SIGINT", () => this.stop(0));
    process.on("SIGTERM", () => this.stop(0));
  }

  /** Has `stop` called when the lab ends, before those that were added earlier. */
  add(stop) {
    this.#stops.push(stop);
  }

  /** Runs `start`; when it fails, stops what was started and ends with code 1. */
  async run(start) {
    try {
      await start();
    } catch (error) {
      if (!this.#stopping) console.error(`the lab did not start: ${error.message}`);
      await this.stop(1);
    }
  }

  /** Starts a service as a process of its own. Resolves to the port that it says it listens on (see `service.mjs`). */
  async service(file, environment) {
    // Detached: Ctrl-C reaches the whole group of processes, and the parts are to end in order.
    const child = fork(file, { env: { ...process.env, ...environment }, detached: true });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    this.add(async () => {
      child.kill("SIGTERM");
      await ended;
    });
    const port = await listening(child, basename(file));
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      console.error(`${basename(file)} exited unexpectedly (${signal ?? code})`);
      void this.stop(1);
    });
    return port;
  }

  /** Ends the lab. */
  async stop(code) {
    if (this.#stopping) return;
    this.#stopping = true;
    for (const stop of this.#stops.reverse()) await stop();
    process.exit(code);
  }
}

function listening(child, name) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${name} was not listening after ${START_LIMIT_MS / 1000} s`)), START_LIMIT_MS);
    const early = (code, signal) => {
      clearTimeout(late);
      reject(new Error(`${name} ended (${signal ?? code}) before it was listening`));
    };
    child.once("exit", early);
    child.once("message", ({ port }) => {
      clearTimeout(late);
      child.off("exit", early);
      resolve(port);
    });
  });
}
