// Payments, and the messages that tell subscribers about them: how long does a message take from the payment to its subscriber?
//
//   node labs/webhooks/start.mjs                                                  (in another terminal)
//   loadstone run labs/webhooks/webhooks.load.ts -p rate=20 -p accounts=8 -p webhooks=1 -p delay="loguniform(100ms,2s)"

import { arrivals, failures, flow, flowTime, observe, once, param, random, scenario, sequence, stub, test } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "the payments platform" });
const service = param.url("service", { default: "http://127.0.0.1:8081", help: "the webhook service" });
const database = param.string("database", { default: "postgres://webhooks@127.0.0.1:8082/postgres", help: "the service's database, to observe" });
const listen = param.string("listen", { default: "127.0.0.1:9099", help: "where the simulated subscriber listens" });

const accounts = param.number("accounts", { default: 8, min: 1, help: "accounts that make payments" });
const webhooks = param.number("webhooks", { default: 1, min: 1, help: "webhooks each account subscribes" });
const delay = param.delay("delay", { default: "loguniform(100ms, 2s)", help: "time until the subscriber responds" });
const slowShare = param.number("slowShare", { default: 0, min: 0, max: 1, help: "share of messages it responds to after 2 s instead" });

// The last five can come from the environment under the names of the team that had this case, with LOADSTONE_ in front:
// LOADSTONE_RAMPUP_USERS_FROM, RAMPUP_USERS_TO, RAMPUP_SECONDS, CONSTANT_USERS, CONSTANT_SECONDS. Their users arrive once a second.
const rate = param.number("rate", { default: 20, min: 0, help: "payments per second" });
const constantUsers = param.number("constantUsers", { default: rate, min: 0, help: "another name for rate" });
const constantSeconds = param.number("constantSeconds", { default: 60, min: 1, help: "how long payments keep coming at that rate" });
const rampupUsersFrom = param.number("rampupUsersFrom", { default: 0, min: 0, help: "payments per second at the start of the ramp that comes first" });
const rampupUsersTo = param.number("rampupUsersTo", { default: constantUsers, min: 0, help: "payments per second at the end of the ramp" });
const rampupSeconds = param.number("rampupSeconds", { default: 5, min: 1, help: "length of the ramp" });
const drain = param.duration("drain", { default: "15m", help: "how long to wait after the payments for messages still in flight" });

const subscriber = stub.http({ name: "subscriber", listen, delay });
const timeToSend = flow("Time to send", { drain });

/** A message is known by its payment and by the webhook that it goes to. */
const message = (payment: string, webhook: number | string) => `${payment} to ${webhook}`;

const subscribe = scenario("Subscribe", async (user) => {
  await user.delete(`${service}/v1/subscriptions`, { name: "Forget earlier runs", query: { url: subscriber.url } });
  for (let account = 0; account < accounts; account++) {
    for (let webhook = 0; webhook < webhooks; webhook++) {
      const json = { account: `account-${account}`, event_type: "payment.created", url: `${subscriber.url}/webhook/${webhook}` };
      await user.post(`${service}/v1/subscriptions`, { name: "Subscribe", json, expect: { status: 201 } });
    }
  }
});

const pay = scenario("Pay", async (user) => {
  const account = `account-${user.random.integer(0, accounts - 1)}`;
  const payment = await user.post("/v1/payments", { name: "Pay", json: { account, amount: 1200 }, expect: { status: 201 } });
  for (let webhook = 0; webhook < webhooks; webhook++) timeToSend.start(message(payment.json("$.payment_id"), webhook));
});

subscriber.on("POST /webhook/:webhook", (request) => {
  timeToSend.finish(message(request.json("$.resource_id"), request.parameters["webhook"]));
  if (random.boolean(slowShare)) return { delay: "2s" };
});

export default test({
  target,
  load: sequence(
    subscribe.run(once()),
    pay.run(arrivals.ramp(rampupUsersFrom, rampupUsersTo).for(`${rampupSeconds}s`).then(arrivals(constantUsers).for(`${constantSeconds}s`))),
  ),
  observe: [
    observe.postgres(database),
    observe.sql({ name: "messages", url: database, query: "select count(*) as pending from deliveries where state = 'pending'" }),
    observe.process({ name: "webhooks", port: Number(new URL(service).port) }),
    observe.host(),
  ],
  thresholds: [flowTime(timeToSend).p50.below("100ms"), flowTime(timeToSend).max.below("450ms"), failures().rate.equals(0)],
});
