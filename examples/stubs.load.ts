// Stubs for the dependencies of a system: a ledger with gRPC, and a cache with a custom protocol over TCP. Here the users call them
// directly, so the file runs without a system. For your system, give the stubs a `listen` address and point it at them.
//
//   loadstone run examples/stubs.load.ts

import { arrivals, failures, flow, param, proto, responseTime, scenario, stub, test } from "loadstone";

const perSecond = param.number("perSecond", { default: 50, min: 1 });
const runTime = param.duration("runTime", { default: "30s" });

proto("ledger.proto");

/** From the request for a balance until the ledger receives it. */
const asked = flow("Asked");

const ledger = stub.grpc({ name: "ledger", delay: "lognormal(8ms, 4ms)" });
ledger
  .on("ledger.v1.Ledger/Balance", (call) => {
    asked.finish(call.header("x-question") ?? "");
    return { message: { account: call.message.account, cents: call.message.account * 100 } };
  })
  .on("ledger.v1.Ledger/Entries", { messages: [{ cents: 995 }, { cents: 205 }], every: "5ms" });

const cache = stub.tcp({ name: "cache", until: "\r\n", delay: "1ms" }, (request) => (request.text.startsWith("GET ") ? "-\r\n" : "OK\r\n"));

const look = scenario("Look", async (user) => {
  const account = user.random.integer(1, 1_000);
  const connection = await user.tcp(cache.address, { name: "Connect" });
  const cached = await connection.request(`GET ${account}\r\n`, { until: "\r\n", name: "Look up" });
  user.check("nothing is cached", cached.ok && cached.text === "-\r\n");

  const key = `${user.number}-${user.iteration}-${account}`;
  asked.start(key);
  const balance = await user.grpc("ledger.v1.Ledger/Balance", { account }, { name: "Balance", target: ledger.url, metadata: { "x-question": key } });
  user.check("it is the account's", balance.ok && balance.message.cents === String(account * 100));

  const entries = await user.grpcStream("ledger.v1.Ledger/Entries", { account }, { name: "Entries", target: ledger.url });
  let count = 0;
  for await (const entry of entries.messages()) count += entry.ok ? 1 : 0;
  user.check("all entries came", count === 2);
});

export default test({
  load: look.run(arrivals(perSecond).for(runTime)),
  thresholds: [responseTime("Balance").p99.below("200ms"), failures().rate.below("1%")],
});
