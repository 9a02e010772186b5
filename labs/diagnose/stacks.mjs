// The stacks of the benchmark: what each needs, and how it is started. All are the same little shop.

import { join } from "node:path";
import { installPackages } from "../parts.mjs";
import { startProgram } from "./program.mjs";

const here = import.meta.dirname;
const local = (port) => `http://127.0.0.1:${port}`;

/** Also what the others need to reach the database. */
const installNode = () => installPackages(join(here, "node"));

async function startNode({ parts, settings, environment }) {
  const port = await startProgram(parts, ["node", join(here, "node/shop.mjs")], { environment, descriptors: settings.descriptors });
  return { shop: local(port), metrics: `${local(port)}/metrics` };
}

export const STACKS = {
  node: { database: true, install: installNode, start: startNode },
};
