// Visitors of the shop: they list products, look at one, log in, buy it, and see a report. The same test for every stack of the benchmark.
//
//   STACK=node FAULT='{}' node labs/diagnose/start.mjs                 (in another terminal)
//   loadstone run labs/diagnose/shop.load.ts -p target=http://127.0.0.1:PORT -p load=ramp -p watch=all -p database=postgres://…

import { arrivals, observe, type Observer, param, scenario, test, users } from "loadstone";

const target = param.url("target", { default: "http://127.0.0.1:8080", help: "the shop" });
const load = param.choice("load", ["constant", "ramp", "closed", "users"], { default: "ramp", help: "how visitors come" });
const watch = param.choice("watch", ["nothing", "process", "all"], { default: "all", help: "what is observed" });
const stack = param.string("inside", { default: "", help: "the stack whose runtime is observed, too: node, redis, jvm, go or python" });
const visits = param.number("visits", { default: 8, min: 1, help: "visits a second of the constant load" });
const length = param.duration("length", { default: "30s", help: "how long visitors keep coming" });
const [database, redis, provider, upstream, metrics, cgroup] = ["database", "redis", "provider", "upstream", "metrics", "cgroup"].map((part) =>
  param.string(part, { default: "", help: `the address of the ${part}, if there is one` }),
);

const visit = scenario("Visit", async (user) => {
  await user.get("/list", { name: "List" });
  await user.get(`/item?code=P${user.random.integer(1, 1000)}`, { name: "Item" });
  await user.post("/login", { name: "Login" });
  await user.post("/buy", { name: "Buy" });
  await user.get("/report", { name: "Report" });
  if (load === "closed" || load === "users") await user.pause("1s");
});

const loads = {
  constant: arrivals(visits).for(length),
  ramp: arrivals.ramp(2, 40).for(length),
  closed: users.ramp(1, 40).for(length),
  users: users(40).for(length),
};

const port = (address: string) => Number(new URL(address).port);
const processes = [
  observe.process({ name: "shop", port: port(target) }),
  ...(upstream ? [observe.process({ name: "upstream", port: port(upstream) })] : []),
];
const runtimes: Record<string, () => Observer> = {
  node: () => observe.node({ name: "runtime", port: port(target) }),
  redis: () => observe.node({ name: "runtime", port: port(target) }),
  jvm: () => observe.jvm({ name: "runtime", port: port(target) }),
  go: () => observe.go(target, { name: "runtime" }),
  python: () => observe.python({ name: "runtime", port: port(target) }),
};
const runtime = stack in runtimes ? [runtimes[stack]()] : [];
const others = [
  ...(provider ? [observe.process({ name: "provider", port: port(provider) })] : []),
  ...(database ? [observe.postgres(database)] : []),
  ...(redis ? [observe.redis(redis)] : []),
  ...(cgroup ? [observe.cgroup({ path: cgroup })] : []),
  ...(metrics ? [observe.prometheus(metrics)] : []),
  observe.host(),
];

export default test({
  target,
  load: visit.run(loads[load]),
  observe: watch === "nothing" ? [] : [...processes, ...runtime, ...(watch === "all" ? others : [])],
  options: { gracefulStop: "2s", insecure: true, tlsResumption: false },
});
