// Everything that could make VUs grow over time: cookies, groups, checks, batches, timers, forms, iterations that throw, and VUs that a ramp removes in the
// middle of an iteration. `cargo xtask soak --k6` runs it for minutes, and a test of crates/k6 for seconds.
import http from "k6/http";
import exec from "k6/execution";
import { check, fail, group, sleep } from "k6";
import { Counter, Trend } from "k6/metrics";
import { SharedArray } from "k6/data";

const url = __ENV.URL;
const seconds = Number(__ENV.SECONDS || 600);
const vus = Number(__ENV.VUS || 300);
/** Seconds between two requests of a VU. */
const pause = Number(__ENV.PAUSE || 1);

const names = new SharedArray("names", () => Array.from({ length: 1000 }, (_, index) => ({ name: `customer-${index}` })));
const orders = new Counter("orders");
const baskets = new Trend("basket");

/** Up and down again, ten times. */
const waves = Array.from({ length: 10 }, () => [
  { duration: `${seconds / 25}s`, target: Math.ceil(vus / 5) },
  { duration: `${seconds / 25}s`, target: Math.ceil(vus / 5) },
  { duration: `${seconds / 50}s`, target: 0 },
]).flat();

export const options = {
  scenarios: {
    shop: { executor: "constant-vus", vus, duration: `${seconds}s`, gracefulStop: "0s" },
    restless: { executor: "ramping-vus", exec: "restless", startVUs: 0, stages: waves, gracefulRampDown: "0s", gracefulStop: "0s" },
    orders: {
      executor: "constant-arrival-rate", exec: "order", rate: Math.ceil(vus / 10), duration: `${seconds}s`, preAllocatedVUs: Math.ceil(vus / 10), gracefulStop: "0s",
    },
  },
  thresholds: { "http_req_duration{group:::browse}": ["p(95)<5000"], orders: ["count>0"] },
};

export default function () {
  const jar = http.cookieJar();
  jar.set(url, "customer", names[exec.scenario.iterationInTest % names.length].name);
  group("browse", () => {
    const page = http.get(`${url}/pages/${exec.vu.iterationInScenario % 7}`, { tags: { name: "page" } });
    check(page, { "is ok": (response) => response.status === 200, "has products": (response) => response.json("products.#") > 0 });
    baskets.add(page.body ? page.body.length : 0);
    sleep(pause);
  });
  const [one, two] = http.batch([`${url}/a`, ["GET", `${url}/b`, null, { cookies: { own: "1" }, responseType: "binary" }]]);
  check(two, { "the jar has the customer": () => jar.cookiesForURL(url).customer !== undefined });
  sleep(pause * Math.random());
  if (exec.vu.iterationInScenario % 10 === 9) fail(`on purpose: ${one.status}`);
}

/** Its VU is often removed while it waits. */
export function restless() {
  group("outer", () => group("inner", () => {
    setTimeout(() => check(null, { "timers fire": () => true }), 1);
    http.get(`${url}/restless`);
    sleep(pause * 10);
  }));
}

export async function order() {
  const id = `${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
  const created = await http.asyncRequest("POST", `${url}/orders`, { id, product: "x y" });
  orders.add(1, { kind: "web" });
  check(created, { created: (response) => response.status === 200 });
  await new Promise((resolve) => setTimeout(resolve, pause * 100));
}
