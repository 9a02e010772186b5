// The ticket case of the design, including its set-up and tear-down.
import { test, scenario, sequence, arrivals, users, once, param, csv, template, responseTime, requests, failures, observe } from "loadstone";

const usersPerSecond = param.number("usersPerSecond", { default: 4, help: "new travellers per second" });
const runTime = param.duration("runTime", { default: "1m" });
const barcodes = csv("barcodes.csv").circular(); // also .random() .shuffle() .queue(), json, jsonl, generator

const setUp = scenario("Set up", (user) => user.post("/set-up"));
const tearDown = scenario("Tear down", (user) => user.post("/tear-down"));

const buyTicket = scenario("Buy a ticket", async (user) => {
  await user.get("/v1/channels/123/products", { name: "List products" });
  await user.pause("1s");
  const created = await user.post("/v1/tickets/create", { name: "Create ticket", json: { product: "OneHour" }, expect: { status: 200 } });
  const ticketId = created.json("$.ticketId");
  await user.post(`/v1/tickets/${ticketId}/activate`, { name: "Activate ticket" });
});

const validator = scenario("Validator", async (user) => {
  const socket = await user.ws("/validate/json/v1", { name: "Connect" });
  await socket.send("init\n…");
  for await (const _ of user.pace({ perMinute: 25 })) {
    const { barcode } = barcodes.next();
    const answer = await user.group("Tap", () =>
      socket.request(template("tap.txt", { barcode }), { name: "Tap response", match: /^tap-response/m, within: "500ms" }),
    );
    await socket.send(template("notify.txt", { barcode, access: answer.regex(/"access" *: *(true|false)/)[1] }));
  }
});

export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080" }),
  load: sequence(
    setUp.run(once()),
    [buyTicket.run(arrivals(usersPerSecond).for(runTime)), validator.run(users(3400).for(runTime))],
    tearDown.run(once()),
  ),
  observe: [observe.process({ port: 8080 }), observe.postgres("postgres://…"), observe.prometheus("http://127.0.0.1:8080/metrics")],
  thresholds: [
    requests().count.atLeast(1000),
    responseTime().max.below("1s"),
    responseTime("Tap response").p99.below("50ms").over("10s"),
    failures().rate.equals(0),
  ],
});
