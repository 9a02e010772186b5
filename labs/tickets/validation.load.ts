// Validators scan barcodes: each stays connected by WebSocket, asks about a barcode 25 times a minute, and reports what it decided.
//
//   loadstone run labs/tickets/make-barcodes.load.ts              (once, for barcodes.csv)
//   loadstone run labs/tickets/validation.load.ts -p validators=3400 -p runTime=10m

import { csv, failures, observe, param, requests, responseTime, scenario, test, users } from "loadstone";
import { connect, notify, tap } from "./steps/validating";

const target = param.url("target", { default: "http://127.0.0.1:8081", help: "the validation service" });
const validators = param.number("validators", { default: 3400, min: 1 });
const tapsPerMinute = param.number("tapsPerMinute", { default: 25, min: 0, help: "scans per minute and validator" });
const runTime = param.duration("runTime", { default: "2m", help: "how long all validators scan" });
const rampUp = param.duration("rampUp", { default: "30s", help: "time over which the validators connect, one after another" });
const connectionsPerSecond = param.number("connectionsPerSecond", { default: 500, min: 1, help: "most new connections per second, including reconnections" });
const steps = param.number("steps", { default: 0, min: 0, help: "find the limit: climb to all validators in this many steps instead of a ramp" });

const barcodes = csv<{ product: string; barcode: string }>("barcodes.csv").circular();

const validator = scenario("Validator", async (user) => {
  let socket = await connect(user);
  for await (const _ of user.pace({ perMinute: tapsPerMinute })) {
    if (!socket.open) socket = await connect(user); // lost since the last scan
    const { product, barcode } = barcodes.next();
    const decision = await user.group(product, () => tap(socket, barcode));
    if (decision === undefined) {
      await socket.ping({ name: "Still there?", within: "2s" }); // a connection on which nobody listens any more is closed by this
      continue;
    }
    user.check("lets the traveller in", decision.access);
    await notify(socket, decision);
  }
});

const load =
  steps === 0
    ? users.ramp(0, validators).for(rampUp).then(users(validators).for(runTime))
    : users.steps({ from: validators / steps, to: validators, by: validators / steps }).for(runTime);

export default test({
  target,
  load: validator.run(load),
  observe: [observe.process({ port: Number(new URL(target).port) }), observe.prometheus(`${target}/metrics`), observe.host()],
  thresholds: [
    requests("Tap response").count.atLeast(1000),
    responseTime("Tap response").max.atMost("500ms"),
    responseTime("Tap response").p99.below("50ms").over("10s"),
    failures().rate.equals(0),
  ],
  options: { sources: ["127.0.0.1", "127.0.0.2", "127.0.0.3"], connectionsPerSecond },
});
