// Flows: journeys that start in one place and finish in another. This file builds the data of `plan::FlowSpec`; Rust records the events.
import { known, name as nameOf, nanoseconds, show, strict } from "loadstone:values";

const OPTIONS = ["timeout", "drain", "stages"];
const START = -1, FINISH = -2;

function key(value: unknown, what: string): string {
  if (typeof value === "string" || (typeof value === "number" && Number.isFinite(value)) || typeof value === "bigint") return String(value);
  throw new TypeError(`${what}: ${show(value)} is not a key: use a string or a number that identifies the journey`);
}

export class Flow {
  readonly #number: number;
  readonly #plan: { stages: string[] };

  constructor(readonly name: string, plan: { stages: string[] }, number: number) {
    this.#number = number;
    this.#plan = plan;
  }

  /** For descriptions of observers: the flow's number from 1, and the step. */
  static step(of: unknown, step: "start" | "finish" | string, what: string): { flow: number; step: string } {
    if (!(of instanceof Flow)) throw new TypeError(`${what}: ${show(of)} is not a flow`);
    if (step === "start" || step === "finish") return { flow: of.#number + 1, step };
    const index = of.#plan.stages.indexOf(step);
    if (index < 0) throw new RangeError(`${what}: flow "${of.name}" has no stage ${show(step)}`);
    return { flow: of.#number + 1, step: String(index) };
  }

  static plan(of: Flow): unknown {
    return { name: of.name, ...of.#plan };
  }

  start(value: string | number, options?: { since?: unknown }) {
    if (options !== undefined) known(options, ["since"], "start(…)");
    __loadstone.flow(this.#number, START, key(value, "start(…)"), options?.since);
  }
  stage(stage: string, value: string | number) {
    const index = this.#plan.stages.indexOf(stage);
    if (index < 0) {
      const { stages } = this.#plan;
      const listed = stages.length > 0 ? `known: ${stages.join(", ")}` : "it has no stages: list them in `stages` of `flow(…)`";
      throw new RangeError(`flow "${this.name}" has no stage ${show(stage)}; ${listed}`);
    }
    __loadstone.flow(this.#number, index, key(value, "stage(…)"), undefined);
  }
  finish(value: string | number) {
    __loadstone.flow(this.#number, FINISH, key(value, "finish(…)"), undefined);
  }
}

strict(Flow);

/** All flows of the file, in the order of their declaration. */
export const flows: Flow[] = [];

export function flow(name: string, options: any = {}): Flow {
  nameOf(name, "flow(…)");
  known(options, OPTIONS, `flow "${name}"`);
  if (__loadstone.declared !== undefined && flows.length >= __loadstone.declared.flows) {
    throw new Error(`flow "${name}": declare flows at the top level of the test, outside scenarios`);
  }
  const stages = options.stages ?? [];
  if (!Array.isArray(stages)) throw new TypeError(`flow "${name}": stages are a list of names, not ${show(stages)}`);
  const plan = {
    timeout_ns: options.timeout === undefined ? null : nanoseconds(options.timeout, `flow "${name}" timeout`),
    drain_ns: nanoseconds(options.drain ?? "1m", `flow "${name}" drain`),
    stages: stages.map((stage) => nameOf(stage, `flow "${name}" stages`)),
  };
  const flow = new Flow(name, plan, flows.length);
  flows.push(flow);
  return flow;
}
