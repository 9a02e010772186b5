// The same test as ../../issuing.load.ts, for k6.
//
//   k6 run -e TRAVELLERS_PER_SECOND=4 labs/tickets/peers/k6/issuing.js
import http from "k6/http";
import { check, group, sleep } from "k6";
import { Rate } from "k6/metrics";

const target = __ENV.TARGET || "http://127.0.0.1:8080";
const travellersPerSecond = Number(__ENV.TRAVELLERS_PER_SECOND || 4);
const runTime = __ENV.RUN_TIME || "1m";
const thinkTime = Number(__ENV.THINK_TIME || 1);
const json = { headers: { "Content-Type": "application/json" } };
const passed = new Rate("passed");

export const options = {
  scenarios: {
    buyTicket: {
      executor: "constant-arrival-rate",
      rate: travellersPerSecond,
      timeUnit: "1s",
      duration: runTime,
      preAllocatedVUs: travellersPerSecond * 10,
      maxVUs: travellersPerSecond * 50,
      exec: "buyTicket",
    },
  },
  thresholds: {
    http_reqs: ["count>=1000"],
    http_req_duration: ["max<=1000"],
    "http_req_duration{name:Get barcode}": ["max<=500"],
    http_req_failed: ["rate==0"],
    passed: ["rate==1"],
  },
};

export function setup() {
  const opened = http.post(`${target}/v1/channels`, JSON.stringify({ name: "Load test", products: ["OneHour", "OneDay", "OneWeek"] }), {
    ...json,
    tags: { name: "Open a channel" },
  });
  if (opened.status !== 201) throw new Error(`no channel: ${opened.status}`);
  return { channel: opened.json("channel") };
}

function expect(response, checks) {
  passed.add(check(response, checks));
}

function listProducts(channel) {
  const list = http.get(`${target}/v1/channels/${channel}/products`, { tags: { name: "List products" } });
  expect(list, { "lists products": (r) => r.status === 200 });
  return list.json("products.#.id");
}

function showProduct(channel, product) {
  const shown = http.get(`${target}/v1/channels/${channel}/products/${product}`, { tags: { name: "Show product" } });
  expect(shown, { "shows the product": (r) => r.status === 200 && r.json("id") === product && r.json("price_cents") > 0 });
}

function createTicket(product) {
  const created = http.post(`${target}/v1/tickets/create`, JSON.stringify({ product }), { ...json, tags: { name: "Create ticket" } });
  expect(created, { "creates a ticket": (r) => r.status === 201 && r.json("state") === "created" });
  return created.json("ticketId");
}

function activateTicket(ticket) {
  const active = http.post(`${target}/v1/tickets/${ticket}/activate`, null, { tags: { name: "Activate ticket" } });
  expect(active, { "activates it": (r) => r.status === 200 && r.json("state") === "active" });
}

function getBarcode(ticket) {
  const answer = http.get(`${target}/v1/tickets/${ticket}/barcode`, { tags: { name: "Get barcode" } });
  const found = /"barcode" *: *"([\w-]+\.[\w-]+)"/.exec(answer.body);
  expect(answer, { "has a barcode": (r) => r.status === 200 && found !== null });
  return found && found[1];
}

export function buyTicket({ channel }) {
  const products = listProducts(channel);
  sleep(thinkTime);
  const product = products[Math.floor(Math.random() * products.length)];
  showProduct(channel, product);
  sleep(thinkTime);
  group("Get a ticket", () => {
    const ticket = createTicket(product);
    sleep(thinkTime);
    activateTicket(ticket);
    sleep(thinkTime);
    getBarcode(ticket);
  });
}

export function teardown({ channel }) {
  http.del(`${target}/v1/channels/${channel}`, null, { tags: { name: "Close the channel" } });
}
