// The library of slow.c, compiled once for this machine, and what a process needs to be started with it.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "loadstone-slow-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// The database runs as another user.
chmodSync(folder, 0o755);
const library = join(folder, "slow.so");
execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, join(import.meta.dirname, "slow.c"), "-ldl"], { stdio: ["ignore", "ignore", "inherit"] });

/** Holds the milliseconds that a flush of the database takes longer. */
export const flushFile = join(folder, "flush");

export const slowDisk = { LD_PRELOAD: library, FLUSH_FILE: flushFile };
/** Every fsync so many milliseconds longer. */
export const slowFlush = (ms) => (ms > 0 ? { LD_PRELOAD: library, FSYNC_MS: `${ms}` } : {});
export const slowLookup = (ms) => ({ LD_PRELOAD: library, LOOKUP_MS: `${ms}` });
