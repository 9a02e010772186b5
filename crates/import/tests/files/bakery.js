import http from "k6/http";
import exec from "k6/execution";
import { check, fail, group, sleep } from "k6";
import { Counter, Gauge, Rate, Trend } from "k6/metrics";
import { SharedArray } from "k6/data";
import { sha256 } from "k6/crypto";
import encoding from "k6/encoding";
import { randomIntBetween, randomItem } from "https://jslib.k6.io/k6-utils/1.4.0/index.js";
import { browser } from "k6/browser";
import { signIn } from "./lib/session.js";
import { gentle } from "./lib/stages.js";

const BASE_URL = __ENV.BASE_URL || "http://127.0.0.1:9";
const json = { headers: { "Content-Type": "application/json" }, tags: { part: "orders" }, timeout: "10s" };

const loaves = new SharedArray("loaves", () => JSON.parse(open("./loaves.json")));
const price = new Trend("order_price");
const orders = new Counter("orders");
const shelf = new Gauge("shelf");
const fresh = new Rate("fresh");

export const options = {
  scenarios: {
    buyers: { executor: "ramping-vus", exec: "buy", stages: gentle, gracefulRampDown: "5s" },
    lookers: { executor: "constant-arrival-rate", exec: "look", rate: 90, timeUnit: "1m", duration: "10s", preAllocatedVUs: 20, startTime: "2s" },
    page: { executor: "shared-iterations", exec: "render" },
  },
  thresholds: {
    http_req_duration: ["p(95)<20000", { threshold: "max<30000", abortOnFail: true }],
    "http_req_duration{part:orders}": ["med<20000"],
    "checks{scenario:buyers}": ["rate>0.9"],
    order_price: ["avg>1"],
    http_req_waiting: ["p(90)<100"],
  },
  noConnectionReuse: true,
};

export function setup() {
  const answer = http.get(`${BASE_URL}/get?who=setup`);
  return { who: answer.json("args.who.0") };
}

export function buy(data) {
  signIn(data.who);
  group("order", function () {
    const loaf = randomItem(loaves);
    const order = http.post(`${BASE_URL}/post`, JSON.stringify({ loaf, at: __ITER, by: __VU }), json);
    const good = check(order, {
      "taken": (r) => r.status === 200,
      "same loaf": (r) => r.json().json.loaf === loaf,
    });
    fresh.add(good);
    price.add(randomIntBetween(2, 5), { loaf });
    orders.add(1);
    shelf.add(7);
    if (!good) fail("no bread");
  });
  ["/get?a=1", "/get?b=2"].forEach((path) => {
    http.get(BASE_URL + path, { tags: { name: "Look around" } });
  });
  sleep(Math.random() * 0.02);
}

export function look() {
  const [one, two] = http.batch([
    ["GET", `${BASE_URL}/get`, null, { headers: { "x-part": "one" } }],
    { method: "POST", url: `${BASE_URL}/post`, body: { field: "two" } },
  ]);
  check(one, { "one is there": (r) => r.body.includes("x-part") || r.headers["Content-Type"] !== "" });
  check(two, {
    "two is a form": (r) => r.json("form.field.0") === "two",
    "spoke HTTP/2": (r) => r.proto === "HTTP/2.0",
  });
  check(sha256("bread", "hex"), { "hashed": (h) => h.length === 64 });
  console.log(exec.scenario.name, encoding.b64encode("bread"));
}

export async function render() {
  const page = await browser.newPage();
  await page.goto(BASE_URL);
}

export function teardown(data) {
  console.log(`closed by ${data.who}`);
}
