// The webhook case of the design.
import { test, scenario, arrivals, param, stub, flow, flowTime } from "loadstone";

const subscriber = stub.http({
  listen: "127.0.0.1:9099",
  delay: param.delay("delay", { default: "loguniform(100ms, 2s)" }),
  status: 200,
  limit: { rate: "360/s", reject: 429 },
});
const delivery = flow("Time to send", { timeout: "15m" }); // stages, backlog, order, in-flight, drain
const pay = scenario("Pay", async (user) => {
  const p = await user.post("/v1/payments", { json: { amount: 1200 } });
  delivery.start(p.json("$.payment_id"));
});
subscriber.on("POST /webhook", (request) => delivery.finish(request.json("$.resource_id")));

export default test({
  target: "http://127.0.0.1:8080",
  load: pay.run(arrivals(20).for("5m")),
  thresholds: [flowTime("Time to send").max.below("450ms")],
});
