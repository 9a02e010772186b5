// Decisions: is each of them made within a few milliseconds, and for how long?
//
//   sudo node labs/decisions/start.mjs                                                  (in another terminal)
//   sudo loadstone run labs/decisions/decisions.load.ts -p rate=600 -p seconds=600

import { arrivals, failures, observe, once, param, responseTime, sequence, test } from "loadstone";
import { decide, observed, processes, ready } from "./surroundings";

const rate = param.number("rate", { default: 600, min: 0, help: "decisions per second" });
const rampSeconds = param.number("rampSeconds", { default: 10, min: 1, help: "length of the ramp to that rate" });
const seconds = param.number("seconds", { default: 110, min: 1, help: "how long decisions are asked for at that rate" });
const traced = param.number("traced", { default: 0, min: 0, max: 1, help: "1: receive the service's traces" });

export default test({
  target: processes[0]!,
  load: sequence(
    ready.run(once()),
    decide.run(arrivals.ramp(10, rate).for(`${rampSeconds}s`).then(arrivals(rate).for(`${seconds}s`))),
  ),
  observe: traced === 1 ? [...observed, observe.traces()] : observed,
  thresholds: [responseTime("Decide").p999.below("10ms"), failures().rate.equals(0)],
});
