// A control group with a limit of its cores' time: version 2, or version 1 where that is what the machine has. Needs the right to make one.

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PERIOD_US = 100_000;
const ROOT = "/sys/fs/cgroup";

/** Makes a group without a limit; `parts` removes it. */
export function controlGroup(parts) {
  const isOld = existsSync(join(ROOT, "cpu"));
  const path = join(ROOT, isOld ? "cpu" : "", `loadstone-${process.pid}-${Date.now()}`);
  try {
    if (!isOld) writeFileSync(join(ROOT, "cgroup.subtree_control"), "+cpu");
    mkdirSync(path);
  } catch (error) {
    throw new Error(`no control group can be made in ${ROOT} (${error.code}): the fault \`quota\` needs a machine where this user may`);
  }
  parts.add(() => {
    try {
      rmdirSync(path);
    } catch {
      // A process that is still ending holds it; an empty group without a process costs nothing.
    }
  });
  const limit = (cores) => {
    const quota = Math.round(cores * PERIOD_US);
    if (isOld) writeFileSync(join(path, "cpu.cfs_period_us"), `${PERIOD_US}`);
    writeFileSync(join(path, isOld ? "cpu.cfs_quota_us" : "cpu.max"), isOld ? `${quota}` : `${quota} ${PERIOD_US}`);
  };
  return { path, limit };
}
