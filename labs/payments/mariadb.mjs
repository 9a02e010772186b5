// A MariaDB server of the lab's own in a temporary folder, with durable flushes and its performance schema on.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../examples/free-port.mjs";
import { stopServer, untilReady } from "../../examples/server-process.mjs";

const INSTRUMENTED = [
  "--performance-schema=ON",
  "--performance-schema-consumer-events-waits-current=ON",
  "--performance-schema-consumer-events-statements-current=ON",
  "--performance-schema-instrument=wait/%=ON",
];
const DURABLE = ["--innodb-flush-log-at-trx-commit=1"];

/** Starts a server on `port` (0: any free one) with further flags and environment; its user `root` has no password. `execute` runs a script of SQL. */
export async function startMariadb({ port: wanted, flags, environment }) {
  const port = wanted === 0 ? await freePort() : wanted;
  const folder = mkdtempSync(join(tmpdir(), "loadstone-payments-"));
  try {
    const [data, socket] = [join(folder, "data"), join(folder, "socket")];
    // MariaDB runs as root only where it is told to.
    const user = process.getuid?.() === 0 ? ["--user=root"] : [];
    const install = ["--no-defaults", `--datadir=${data}`, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", ...user];
    run("mariadb-install-db", install);
    const own = ["--no-defaults", `--datadir=${data}`, `--socket=${socket}`, `--port=${port}`, "--bind-address=127.0.0.1", "--skip-name-resolve"];
    // Detached: Ctrl-C in a terminal reaches the whole group of processes, and a service must end before its database.
    const server = spawn(serverBinary(), [...own, ...user, ...INSTRUMENTED, ...DURABLE, "--max-connections=500", ...flags], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    await untilReady(server, server.stderr, { name: "MariaDB", sign: "ready for connections", kill: "SIGTERM" });
    const execute = (sql) => run("mariadb", ["--no-defaults", `--socket=${socket}`, "--user=root"], sql);
    return { port, pid: server.pid, execute, stop: () => stopServer(server, "SIGTERM", folder) };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Debian keeps servers in a folder that not every user's search path has. */
function serverBinary() {
  const administrators = "/usr/sbin/mariadbd";
  return existsSync(administrators) ? administrators : "mariadbd";
}

function run(command, args, input) {
  try {
    execFileSync(command, args, { input, stdio: ["pipe", "ignore", "inherit"] });
  } catch (error) {
    throw error.code === "ENOENT" ? new Error("MariaDB is not installed. Debian, Ubuntu: apt-get install mariadb-server") : error;
  }
}
