// The gate of a release: 99.9 % of the decisions within 10 ms. Exit code 0: it passes; 3: it does not; 4: the measurement cannot tell.
//
//   sudo loadstone run labs/decisions/gate.load.ts --junit gate.xml

import { arrivals, failures, once, param, responseTime, sequence, test } from "loadstone";
import { decide, observed, processes, ready } from "./surroundings";

const rate = param.number("rate", { default: 300, min: 1, help: "decisions per second: above today's" });
const runTime = param.duration("runTime", { default: "10m", help: "long enough for what fills up slowly" });

export default test({
  target: processes[0]!,
  load: sequence(ready.run(once()), decide.run(arrivals(rate).for(runTime))),
  observe: observed,
  thresholds: [responseTime("Decide").p999.below("10ms"), failures().rate.equals(0)],
});
