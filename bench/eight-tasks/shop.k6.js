// The load of examples/demo.load.ts as a k6 script, for bench/results/eight-tasks.md.
import http from "k6/http";
import { check, sleep } from "k6";

const TARGET = __ENV.TARGET || "http://127.0.0.1:8080";
const JSON_BODY = { headers: { "content-type": "application/json" } };
const named = (name) => ({ tags: { name } });

export const options = {
  scenarios: {
    browse: { executor: "constant-arrival-rate", exec: "browse", rate: 20, duration: "30s", preAllocatedVUs: 50, maxVUs: 200 },
    buy: { executor: "ramping-arrival-rate", exec: "buy", startRate: 10, stages: [{ target: 130, duration: "30s" }], preAllocatedVUs: 100, maxVUs: 400 },
  },
  thresholds: {
    "http_req_duration{name:Show product}": ["p(95)<50"],
    "http_req_duration{name:Check out}": ["p(95)<250"],
    http_req_failed: ["rate<0.01"],
  },
};

const integer = (low, high) => low + Math.floor(Math.random() * (high - low + 1));

export function browse() {
  const list = http.get(`${TARGET}/products?page=${integer(1, 10)}`, named("List products"));
  const ids = list.json("products.#.id");
  sleep(0.1 + Math.random() * 0.2);
  http.get(`${TARGET}/products/${ids[integer(0, ids.length - 1)]}`, named("Show product"));
  if (Math.random() < 0.3) http.get(`${TARGET}/search?q=lantern`, named("Search"));
}

export function buy() {
  const cart = http.post(`${TARGET}/carts`, null, named("Create cart")).json("id");
  const item = JSON.stringify({ product: integer(1, 200), count: 1 });
  http.post(`${TARGET}/carts/${cart}/items`, item, Object.assign(named("Add to cart"), JSON_BODY));
  const order = http.post(`${TARGET}/checkout`, JSON.stringify({ cart }), Object.assign(named("Check out"), JSON_BODY));
  check(order, { "order is paid": (response) => response.json("status") === "paid" });
}
