// A separate PostgreSQL server in a temporary folder. It starts, stops and is removed together with its system.

import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.mjs";
import { stopServer, untilReady } from "./server-process.mjs";

/**
 * Creates a server with one user, called `name`, and starts it: on `port` (0: any free one), with `settings` as in postgresql.conf.
 * `url` connects to it once `ready` has resolved; `stop()` ends it and removes its data.
 */
export async function startDatabase({ name, port: wanted = 0, settings = {} }) {
  const binaries = findBinaries();
  const owner = unprivilegedUser();
  const port = wanted === 0 ? await freePort() : wanted;
  const folder = mkdtempSync(join(tmpdir(), `loadstone-${name}-`));
  try {
    if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
    const as = { ...owner, cwd: folder };
    const data = join(folder, "data");
    const initdb = ["-D", data, "-U", name, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
    execFileSync(join(binaries, "initdb"), initdb, { ...as, stdio: ["ignore", "ignore", "inherit"] });
    const flags = Object.entries(settings).flatMap(([setting, value]) => ["-c", `${setting}=${value}`]);
    // Detached: Ctrl-C in a terminal reaches the whole process group, but a service must end before its database.
    const server = spawn(join(binaries, "postgres"), ["-D", data, "-k", folder, "-h", "127.0.0.1", "-p", `${port}`, ...flags], {
      ...as,
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    const ready = untilReady(server, server.stderr, { name: "PostgreSQL", sign: "ready to accept connections", kill: "SIGQUIT" });
    // SIGINT is a fast shutdown: clients are disconnected, data are written.
    return { url: `postgres://${name}@127.0.0.1:${port}/postgres`, ready, stop: () => stopServer(server, "SIGINT", folder) };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function findBinaries() {
  // Debian installs them outside the search path, in one folder per version.
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const debian = versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  if (debian !== undefined) return debian;
  try {
    return execFileSync("pg_config", ["--bindir"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    throw new Error("PostgreSQL is not installed (there is no initdb). Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql");
  }
}

/** PostgreSQL refuses to run as root, so root starts it as another user. */
function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag) => Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user: try the next.
    }
  }
  throw new Error("PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as");
}
