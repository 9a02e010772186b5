#!/usr/bin/env node
// The command of the package for npm. Node has no `exec`: signals are passed on, and a signal that ended the binary ends this process, too.
const { spawn } = require("node:child_process");
const name = `loadstone-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/loadstone`);
} catch {
  console.error(
    `loadstone: the package ${name} is not installed. Loadstone supports Linux and macOS on x86-64 and arm64. On such a machine, install without --omit=optional.`,
  );
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`loadstone: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else process.exit(code);
});
