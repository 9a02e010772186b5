// The day after an outage: validators reconnect and deliver the decisions they made offline.
//
//   loadstone run labs/tickets/notifications.load.ts -p validators=43000 -p decisions=100

import { failures, iterations, observe, param, requests, scenario, test, uniqueId } from "loadstone";
import { connect, deliver } from "./steps/validating";

const target = param.url("target", { default: "http://127.0.0.1:8081", help: "the validation service" });
const validators = param.number("validators", { default: 43000, min: 1 });
const decisions = param.number("decisions", { default: 100, min: 1, help: "decisions per validator" });
const connectionsPerSecond = param.number("connectionsPerSecond", { default: 500, min: 1, help: "new connections per second as they come back" });
const within = param.duration("within", { default: "2h", help: "time in which all must be delivered" });

const validator = scenario("Validator", async (user) => {
  const socket = await connect(user);
  for (let turn = 0; turn < decisions; turn++) await deliver(socket, { ticket: uniqueId("ticket"), access: true });
});

export default test({
  target,
  load: validator.run(iterations(1).users(validators).perUser().for(within)),
  observe: [observe.process({ port: Number(new URL(target).port) }), observe.prometheus(`${target}/metrics`), observe.host()],
  thresholds: [requests("Deliver").count.equals(validators * decisions), failures().rate.equals(0)],
  options: { sources: ["127.0.0.1", "127.0.0.2", "127.0.0.3"], requestTimeout: "2m", connectionsPerSecond },
});
