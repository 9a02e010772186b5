// A loop of 20 VUs: the CPU time of one iteration.
import http from "k6/http";
import { check } from "k6";

export const options = { vus: 20, duration: "10s" };

export default function () {
  const response = http.get(__ENV.URL);
  check(response, { ok: (r) => r.status === 200 });
}
