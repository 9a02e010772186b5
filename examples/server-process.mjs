// A server in a separate process: waits until it is ready, and ends it.

import { rmSync } from "node:fs";

const START_LIMIT_MS = 60_000;

/** Resolves once `output` contains `sign`. Otherwise ends the server by the signal `kill`, and rejects with `name` and its last output. */
export function untilReady(server, output, { name, sign, kill }) {
  return new Promise((resolve, reject) => {
    let log = "";
    const late = setTimeout(() => fail(`was not ready within ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS);
    const fail = (why) => {
      clearTimeout(late);
      server.kill(kill);
      reject(new Error(`${name} ${why}. Its last lines:\n${log.split("\n").slice(-10).join("\n")}`));
    };
    server.once("error", (error) => fail(`did not start: ${error.message}`));
    server.once("exit", (code) => fail(`ended with code ${code}`));
    output.setEncoding("utf8");
    output.on("data", (text) => {
      log = (log + text).slice(-4000);
      if (!log.includes(sign)) return;
      clearTimeout(late);
      server.removeAllListeners("exit");
      output.removeAllListeners("data");
      output.resume();
      resolve();
    });
  });
}

/** Ends the server by a signal, unless it has ended, and removes its folder. */
export async function stopServer(server, signal, folder) {
  if (server.pid !== undefined && server.exitCode === null && server.signalCode === null) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}
