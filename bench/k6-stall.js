// A constant rate, whatever the target does: k6's open model.
import http from "k6/http";

export const options = {
  scenarios: {
    stall: { executor: "constant-arrival-rate", rate: Number(__ENV.RATE), duration: `${__ENV.SECONDS}s`, preAllocatedVUs: Number(__ENV.USERS), maxVUs: Number(__ENV.USERS) },
  },
};

export default function () {
  http.get(__ENV.URL);
}
