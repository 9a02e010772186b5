// The visits of shop.load.ts by k6: 2 to 40 visits a second.
//
//   k6 run -e TARGET=http://127.0.0.1:8080 -e SECONDS=24 labs/diagnose/tools/shop.k6.js

import http from "k6/http";

export const options = {
  noCookiesReset: false,
  scenarios: {
    Visit: {
      executor: "ramping-arrival-rate",
      startRate: 2,
      timeUnit: "1s",
      stages: [{ target: 40, duration: `${__ENV.SECONDS}s` }],
      preAllocatedVUs: 600,
      maxVUs: 600,
      gracefulStop: "2s",
    },
  },
};

export default function () {
  const tags = (name) => ({ tags: { name } });
  http.get(`${__ENV.TARGET}/list`, tags("List"));
  http.get(`${__ENV.TARGET}/item?code=P${1 + Math.floor(Math.random() * 1000)}`, tags("Item"));
  http.post(`${__ENV.TARGET}/login`, null, tags("Login"));
  http.post(`${__ENV.TARGET}/buy`, null, tags("Buy"));
  http.get(`${__ENV.TARGET}/report`, tags("Report"));
}
