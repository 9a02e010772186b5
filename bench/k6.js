// The peer's way to write one GET and a check of its status.
import http from "k6/http";
import { check } from "k6";

export default function () {
  check(http.get(__ENV.URL), { "status is 200": (response) => response.status === 200 });
}
