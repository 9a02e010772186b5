// Travellers buy tickets: they look at the products of a channel, create a ticket, activate it and get its barcode.
//
//   node labs/tickets/start.mjs                                   (in another terminal)
//   loadstone run labs/tickets/issuing.load.ts -p travellersPerSecond=4
//   loadstone run labs/tickets/issuing.load.ts -p travellers=40 -p thinkTime=0ms        as many operations as it takes

import { arrivals, failures, observe, once, param, requests, responseTime, scenario, sequence, shared, test, users } from "loadstone";
import { activateTicket, createTicket, getBarcode, listProducts, showProduct } from "./steps/issuing";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "the issuing service" });
const database = param.string("database", { default: "postgres://tickets@127.0.0.1:8082/postgres", help: "the service's database, to observe" });
const travellersPerSecond = param.number("travellersPerSecond", { default: 4, min: 0, help: "new travellers per second" });
const travellers = param.number("travellers", { default: 0, min: 0, help: "closed load instead: this many travellers who buy ticket after ticket" });
const runTime = param.duration("runTime", { default: "1m", help: "how long travellers keep coming" });
const thinkTime = param.delay("thinkTime", { default: "1s", help: "pause between two steps of a traveller" });
const operations = param.number("operations", { default: 1000, help: "least number of operations" });

const channel = shared<number>("channel", 0);

const openChannel = scenario("Open a channel", async (user) => {
  const opened = await user.post("/v1/channels", { json: { name: "Load test", products: ["OneHour", "OneDay", "OneWeek"] }, expect: { status: 201 } });
  channel.set(opened.json("$.channel"));
});

const buyTicket = scenario("Buy a ticket", async (user) => {
  const products = await listProducts(user, channel.get());
  await user.pause(thinkTime);
  const product = user.random.choice(products);
  await showProduct(user, channel.get(), product);
  await user.pause(thinkTime);
  await user.group("Get a ticket", async (user) => {
    const ticket = await createTicket(user, product);
    await user.pause(thinkTime);
    await activateTicket(user, ticket);
    await user.pause(thinkTime);
    await getBarcode(user, ticket);
  });
});

const closeChannel = scenario("Close the channel", (user) => user.delete(`/v1/channels/${channel.get()}`, { expect: { status: 204 } }));

const traffic = travellers === 0 ? arrivals(travellersPerSecond).for(runTime) : users(travellers).for(runTime);

export default test({
  target,
  load: sequence(openChannel.run(once()), buyTicket.run(traffic), closeChannel.run(once())),
  observe: [observe.process({ port: Number(new URL(target).port) }), observe.prometheus(`${target}/metrics`), observe.postgres(database)],
  thresholds: [
    requests().count.atLeast(operations),
    responseTime().max.atMost("1s"),
    responseTime("Get barcode").max.atMost("500ms"),
    failures().rate.equals(0),
  ],
});
