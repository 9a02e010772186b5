// Every line under an @ts-expect-error must be rejected: tsc complains about a directive that expects nothing.
import { arrivals, csv, failures, hash, iterations, once, param, responseTime, scenario, secret, sequence, shared, test, users } from "loadstone";

const s = scenario("S", async (user) => {
  // @ts-expect-error a number has no unit
  await user.pause(5);
  // @ts-expect-error not a duration
  await user.pause("5 parsecs");
  // @ts-expect-error not a distribution
  await user.pause("uniform(1s)");
  // @ts-expect-error GET has no body
  await user.get("/", { json: {} });
  // @ts-expect-error unknown option
  await user.post("/", { jsn: {} });
  // @ts-expect-error a pace needs a rate
  user.pace({ times: 3 });
  // @ts-expect-error no such status class
  await user.get("/", { expect: { status: "6xx" } });
  const response = await user.get("/");
  // @ts-expect-error a response is read only
  response.status = 200;
  // @ts-expect-error the body is a string, not a function
  response.text();
  const redis = user.redis("redis://127.0.0.1");
  // @ts-expect-error an argument is no list
  await redis.command("SET", "k", ["v"]);
  // @ts-expect-error unknown option
  await redis.command("GET", "k", { nmae: "Read" });
  // @ts-expect-error options come last
  await redis.command("SET", { name: "Write" }, "k");
  // @ts-expect-error a pipeline is a list of commands
  await redis.pipeline(["GET", "k"]);
  const sql = user.sql("postgres://app@127.0.0.1");
  // @ts-expect-error values are a list
  await sql.query("SELECT $1", 7);
  // @ts-expect-error unknown option
  await sql.query("SELECT $1", [7], { nmae: "Read" });
  // @ts-expect-error no such level
  await sql.transaction(async () => {}, { isolation: "strict" });
  // @ts-expect-error a transaction is no database
  await sql.transaction((open) => open.transaction(() => {}));
  const tcp = await user.tcp("127.0.0.1:7000");
  // @ts-expect-error a length is a number
  await tcp.read({ length: "4" });
  const udp = await user.udp("127.0.0.1:7000");
  // @ts-expect-error there is nothing to secure
  await user.udp("127.0.0.1:7000", { tls: true });
  // @ts-expect-error a time limit is a duration
  await udp.request("read", { within: 500 });
  const socket = await user.ws("/");
  // @ts-expect-error objects are not converted to strings
  await socket.send({});
  // @ts-expect-error a time limit has a unit
  await socket.request("x", { within: 500 });
  // @ts-expect-error the options are "keep" and "drop"
  await user.ws("/", { unread: "ignore" });
  // @ts-expect-error there is no fetch: requests belong to a user
  await fetch("/");
});

// @ts-expect-error arrivals need a duration
s.run(arrivals(5));
// @ts-expect-error users need a duration
s.run(users(5));
// @ts-expect-error a rate has no such unit
arrivals("5/fortnight");
// @ts-expect-error open and closed stages do not mix
arrivals(5).for("1m").then(users(5).for("1m"));
// @ts-expect-error closed load has no arrivals to space
users(5).poisson();
// @ts-expect-error iterations are not a stage
arrivals(5).for("1m").then(iterations(5));
// @ts-expect-error a scenario is not load until it is run
sequence(s, s.run(once()));
// @ts-expect-error a source must define how rows are distributed
csv("a.csv").next();
// @ts-expect-error the row has no such column
csv<{ name: string }>("a.csv").queue().next().nme;
// @ts-expect-error a default must be one of the options
param.choice("c", ["a", "b"], { default: "x" });
// @ts-expect-error a default of the wrong type
param.number("n", { default: "4" });
// @ts-expect-error only numbers are incremented
shared("list", [] as string[]).increment();
// @ts-expect-error only lists are pushed to
shared("n", 0).push(1);
// @ts-expect-error a time is bounded by a duration
responseTime().p99.below(200);
// @ts-expect-error use percentile(98) for p98
responseTime().p98.below("200ms");
// @ts-expect-error a share is a number or a percentage
failures().rate.below("1/s");
// @ts-expect-error a secret is a string
secret(5);
// @ts-expect-error no such hash
hash("sha3", "x");
// @ts-expect-error a test needs load
test({});
// @ts-expect-error unknown part of a test
test({ load: s.run(once()), treshold: [] });
