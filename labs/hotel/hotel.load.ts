// Load on DeathStarBench's hotelReservation. `cargo xtask hotel` starts the services. The parameters of requests are those of hotelReservation's own load
// (wrk2/scripts); reservations and logins are more frequent, so that a run has enough of each.

import { arrivals, observe, param, scenario, test } from "loadstone";

const rate = param.number("rate", { default: 20, min: 1, help: "requests per second" });
const seconds = param.number("seconds", { default: 30, min: 5, help: "length of the load" });

const day = (number: number) => `2015-04-${String(number).padStart(2, "0")}`;

const visit = scenario("Visit", async (user) => {
  const random = user.random;
  const first = random.integer(9, 21);
  const stay = { inDate: day(first), outDate: day(first + random.integer(1, 3)) };
  const place = { lat: (38.0235 + random.between(-0.2405, 0.2405)).toFixed(4), lon: (-122.095 + random.between(-0.157, 0.168)).toFixed(4) };
  const account = random.integer(0, 500);
  const login = { username: `Cornell_${[...String(account)].map((digit) => `3${digit}`).join("")}`, password: String(account).repeat(10) };
  switch (random.weighted({ search: 50, recommend: 20, login: 10, reserve: 20 })) {
    case "search":
      await user.get("/hotels", { name: "Search", query: { ...stay, ...place } });
      break;
    case "recommend":
      await user.get("/recommendations", { name: "Recommend", query: { require: random.choice(["dis", "rate", "price"]), ...place } });
      break;
    case "login":
      await user.get("/user", { name: "Log in", query: login });
      break;
    case "reserve": {
      const query = { ...stay, ...login, hotelId: random.integer(1, 80), customerName: login.username, number: 1 };
      await user.post("/reservation", { name: "Reserve", query });
    }
  }
});

export default test({
  target: "http://127.0.0.1:5300",
  load: visit.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.process({ port: 5300, name: "frontend" }),
    observe.native({ port: 5300, name: "frontend-go" }),
    observe.process({ port: 5302, name: "search" }),
    observe.process({ port: 5303, name: "geo" }),
    observe.process({ port: 5304, name: "rate" }),
    observe.native({ port: 5304, name: "rate-go" }),
    observe.process({ port: 5301, name: "profile" }),
    observe.process({ port: 5305, name: "recommendation" }),
    observe.process({ port: 5306, name: "user" }),
    observe.process({ port: 5307, name: "reservation" }),
    observe.process({ port: 5321, name: "memcached-profile" }),
    observe.process({ port: 5324, name: "memcached-rate" }),
    observe.process({ port: 5327, name: "memcached-reserve" }),
    observe.process({ port: 5341, name: "ferretdb" }),
    observe.go("http://127.0.0.1:5342", { name: "ferretdb-go" }),
    observe.postgres("postgres://postgres@127.0.0.1:5343/hotel"),
    observe.host(),
  ],
});
