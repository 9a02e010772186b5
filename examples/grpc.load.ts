// The health check of a gRPC server, from many users at once: the response time of a call without work.
//
//   loadstone run examples/grpc.load.ts -p target=http://127.0.0.1:50051

import { arrivals, failures, param, responseTime, scenario, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:50051", help: "where the server listens; https:// for TLS" });
const service = param.string("service", { default: "", help: "service to check; the whole server if empty" });
const perSecond = param.number("perSecond", { default: 50, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

// Declare your own services with `proto("shop.proto")`, or let the server describe them (`options: { grpcReflection: true }`).
const health = scenario("Health", async (user) => {
  const answer = await user.grpc("grpc.health.v1.Health/Check", { service }, { timeout: "1s" });
  if (answer.ok) user.check("serving", answer.message.status === "SERVING");
});

export default test({
  target,
  load: health.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Health/Check").p99.below("100ms"), failures().rate.below("1%")],
});
