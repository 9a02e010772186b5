// Searches on DeathStarBench's hotelReservation by users who try again after a timeout. `cargo xtask hotel` starts the services.

import { arrivals, observe, param, scenario, test } from "loadstone";

const rate = param.number("rate", { default: 8, min: 1, help: "searches per second" });
const spike = param.number("spike", { default: 0, min: 0, help: "searches per second during the spike; 0 for no spike" });
const seconds = param.number("seconds", { default: 40, min: 25, help: "length of the load" });

const BEFORE_SPIKE_SECONDS = 10;
const SPIKE_SECONDS = 10;

const search = scenario("Search hotels", async (user) => {
  const first = user.random.integer(9, 21);
  const query = {
    inDate: `2015-04-${String(first).padStart(2, "0")}`,
    outDate: `2015-04-${first + 1}`.replace(/-(\d)$/, "-0$1"),
    lat: (38.0235 + user.random.between(-0.2405, 0.2405)).toFixed(4),
    lon: (-122.095 + user.random.between(-0.157, 0.168)).toFixed(4),
  };
  await user.get("/hotels", { name: "Search", query });
});

const steady = arrivals(rate).for(`${BEFORE_SPIKE_SECONDS}s`);
const burst = arrivals(spike > 0 ? spike : rate).for(`${SPIKE_SECONDS}s`);
const rest = arrivals(rate).for(`${seconds - BEFORE_SPIKE_SECONDS - SPIKE_SECONDS}s`);

export default test({
  target: "http://127.0.0.1:5300",
  load: search.run(steady.then(burst).then(rest)),
  options: { requestTimeout: "750ms", retry: { times: 5, on: ["timeout", 500, "connection"], wait: "50ms" } },
  observe: [
    observe.process({ port: 5300, name: "frontend" }),
    observe.native({ port: 5300, name: "frontend-go" }),
    observe.process({ port: 5302, name: "search" }),
    observe.process({ port: 5303, name: "geo" }),
    observe.process({ port: 5304, name: "rate" }),
    observe.process({ port: 5301, name: "profile" }),
    observe.process({ port: 5307, name: "reservation" }),
    observe.process({ port: 5324, name: "memcached-rate" }),
    observe.process({ port: 5341, name: "ferretdb" }),
    observe.go("http://127.0.0.1:5342", { name: "ferretdb-go" }),
    observe.postgres("postgres://postgres@127.0.0.1:5343/hotel"),
    observe.host(),
  ],
});
