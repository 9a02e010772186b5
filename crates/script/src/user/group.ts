// `user.group(…)`: opens a group, runs its steps, closes it.
import { known, name as nameOf, show } from "loadstone:values";

async function group(this: any, name: string, steps: (user: any) => unknown, options?: any) {
  nameOf(name, "group(…)");
  if (typeof steps !== "function") throw new TypeError(`group "${name}": the second argument is the function with its steps, not ${show(steps)}`);
  if (options !== undefined) known(options, ["tags"], "group(…)");
  const inside = this.enterGroup(name, options?.tags);
  inside.state = this.state;
  try {
    const result = await steps(inside);
    inside.leaveGroup(true);
    return result;
  } catch (error) {
    inside.leaveGroup(false);
    throw error;
  }
}

Object.defineProperty(__loadstone.userPrototype, "group", { value: group, writable: true, configurable: true });
