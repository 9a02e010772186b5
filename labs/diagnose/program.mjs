// A program of the lab as a process of its own, in any language: it says `listening PORT` when it is up, and ends by SIGTERM.
// One that was not written for the lab is told its port, and asked until it answers.

import { connect } from "node:net";
import { spawn } from "node:child_process";
import { controlGroup } from "./control-group.mjs";

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 5_000;

/**
 * Starts it, and resolves to its port. With `descriptors`, it may not open more files and connections than that; with `quota`, it may use so many
 * cores once it is up, by a control group, whose path `told` is given.
 */
export async function startProgram(parts, [command, ...args], { environment, descriptors, quota, told, folder, port } = {}) {
  const group = quota && controlGroup(parts);
  const before = descriptors ? `ulimit -n ${descriptors}` : group && `echo $$ > ${group.path}/cgroup.procs`;
  const line = before ? ["sh", "-c", `${before}; exec "$@"`, "sh", command, ...args] : [command, ...args];
  const options = { env: { ...process.env, ...environment }, cwd: folder, stdio: ["ignore", "pipe", "inherit"], detached: true };
  const child = spawn(line[0], line.slice(1), options);
  parts.add(() => end(child));
  const listens = await (port ? answering(child, command, port) : listening(child, command));
  group?.limit(quota);
  if (group) told?.(group.path);
  return listens;
}

/** By SIGTERM; one that does not listen to it any more, by SIGKILL, with the processes that it has started. */
export async function end(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const late = setTimeout(() => process.kill(-child.pid, "SIGKILL"), END_LIMIT_MS);
  await ended;
  clearTimeout(late);
}

async function answering(child, name, port) {
  child.stdout.resume();
  const ends = Date.now() + START_LIMIT_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > ends) throw new Error(`${name} does not answer on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return port;
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function listening(child, name) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${name} was not listening after ${START_LIMIT_MS / 1000} s`)), START_LIMIT_MS);
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`${name} ended (${signal ?? code}) before it was listening`)));
    let log = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      log = (log + text).slice(-4000);
      const said = /listening (\d+)\n/.exec(log);
      if (!said) return;
      clearTimeout(late);
      child.stdout.removeAllListeners("data").resume();
      resolve(Number(said[1]));
    });
  });
}
