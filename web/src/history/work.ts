// The work that a form starts, before its fields are filled in.

import type { OrderedWork, TestFile } from "../generated/ui";
import type { FindingToProve } from "./address";

/** An experiment with the first knob of the test. If it is to prove a finding, the command selects the knob that the finding names. */
export function experimentOf(test: TestFile, proof: FindingToProve | null): OrderedWork {
  const knob = proof && test.knobs.length > 1 ? "" : (test.knobs[0]?.name ?? "");
  return { kind: "experiment", knob, block: "", rounds: "", effect: "", measure: "", finding: proof?.finding ?? "", run: proof?.run ?? "" };
}
