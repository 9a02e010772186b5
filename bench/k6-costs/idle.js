// VUs that wait after their first iteration: the memory of each.
import http from "k6/http";
import { check, sleep } from "k6";

export const options = { scenarios: { idle: { executor: "constant-vus", vus: Number(__ENV.VUS), duration: "12s", gracefulStop: "0s" } } };

export default function () {
  const response = http.get(__ENV.URL);
  check(response, { ok: (r) => r.status === 200 });
  sleep(60);
}
