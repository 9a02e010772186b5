// 5,000 VUs with one iteration each: the time that they take to start.
import http from "k6/http";
import { check } from "k6";

export const options = { scenarios: { start: { executor: "per-vu-iterations", vus: 5000, iterations: 1, maxDuration: "30s" } } };

export default function () {
  const response = http.get(__ENV.URL);
  check(response, { ok: (r) => r.status === 200 });
}
