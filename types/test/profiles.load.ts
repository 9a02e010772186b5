// Uses every load profile, parameter, feeder and threshold once. The file must type-check.
import {
  arrivals, atOnce, base64, checks, csv, failures, file, generator, groupTime, hash, hex, hmac, iterationCount, iterations, json, jsonl, milliseconds, once,
  parallel, param, random, requests, responseTime, rows, scenario, scheduleLag, scriptErrors, sequence, serviceTime, shared, template, test, uniqueId, users,
} from "loadstone";
import type { Duration, Load, OpenProfile } from "loadstone";

const rate: number = param.number("rate", { default: 4, min: 0, max: 1000 });
const host: string = param.string("host");
const verbose: boolean = param.boolean("verbose", { default: false });
const time: Duration = param.duration("time", { default: "1m30s", help: "how long" });
const colour: "red" | "blue" = param.choice("colour", ["red", "blue"], { default: "red" });
const think = param.delay("think", { default: "uniform(1s, 3s)" });
const token = param.string("token", { default: "", secret: true });

const people = csv<{ name: string; age: string }>("people.csv", { separator: ";" }).shuffle();
const orders = json<{ id: number }>("orders.json").random();
const lines = jsonl("lines.jsonl").queue();
const sizes = rows([1, 2, 3]).circular();
const accounts = generator((n) => ({ name: `account-${n}` }));
const tokens = shared<string[]>("tokens", []);
const count = shared("count", 0);

const all = scenario(
  "All",
  async (user) => {
    user.state.visits = (user.state.visits ?? 0) + 1;
    const name: string = people.next().name + accounts.next().name + String(sizes.next() + orders.next().id) + lines.next().any;
    const [a, b] = await Promise.all([user.get("/a", { query: { q: name, n: [1, 2], none: undefined } }), user.get("/b", { discardBody: true })]);
    const both: boolean = user.check("both", a.ok && b.status === 200);
    const page = await user.request("PURGE", "/c", { body: new Uint8Array([1]), auth: null, redirects: 0, timeout: "2s" });
    const title: string = page.css("title");
    const href: string | null = page.css("a", { attribute: "href" }, null);
    const maybe = page.regex(/x=(?<x>\d)/, undefined);
    await user.post("/d", {
      multipart: { title, photo: file("photo.jpg") },
      expect: { status: ["2xx", 304], header: { etag: true }, json: { "$.ok": true }, within: "1s" },
    });
    await user.group("Group", async (inner) => { await inner.put("/e", { form: { href: href ?? "", x: maybe?.groups.x } }); });
    await user.pause(think);
    await user.pause(`${user.random.integer(1, 5)}s`);
    for await (const turn of user.pace({ every: "200ms", times: 5 })) user.log(turn, both, verbose, colour, host, token);
    tokens.push(uniqueId("t"));
    const total: number = count.increment() + count.update((n) => n + 1);
    if (total > 10) user.fail("too many");
    const digest: Uint8Array = hash("sha256", page.bytes, "bytes");
    const signature: string = hmac("sha1", digest, template("t.txt", { name }), "base64url") + hex.encode(digest) + base64.decodeText("aGk=");
    await user.delete("/f", { headers: { signature } });
    const pick: "x" | "y" = random.weighted({ x: 1, y: 2 });
    user.cookies.set("pick", pick);
    console.log(new URL("/x", "http://a").searchParams.get("q"), crypto.randomUUID(), milliseconds(time));
  },
  { headers: { accept: "application/json" }, auth: { bearer: token }, fresh: true },
);

const up: OpenProfile = arrivals.ramp(0, "100/s").for("1m").then(arrivals(rate).poisson().for(time)).maxUsers(500).gracefulStop("5s");
const load: Load = sequence(
  all.run(once()),
  [all.run(up), all.run(arrivals.steps([10, 20]).each("1m")), all.run(arrivals.steps({ from: 1, to: 5, by: 1 }).poisson().for("5m"))],
  parallel(all.run(arrivals.spike(1, 50, { hold: "5s" }).for("1m")), [all.run(atOnce(10)), [all.run(users(5).for("1m"))]]),
  all.run(users.ramp(0, 10).for("1m").then(users.steps([10, 20]).each("30s")).gracefulStop("0")),
  all.run(iterations(100).users(5).perUser().for("10m")),
);

export default test({
  name: "Everything",
  load,
  options: { seed: 7, requestTimeout: "5s", gracefulStop: "10s", seriesMax: 100, insecure: true },
  thresholds: [
    responseTime({ scenario: "All", group: "Group" }).p999.atMost("2s").over("10s").after("30s").abortEarly(),
    serviceTime("GET /a").percentile(99.5).below("1s"),
    scheduleLag().p99.below("1ms"),
    groupTime("Group").mean.below("1s"),
    requests().rate.atLeast("600/m"),
    failures("GET /a").rate.below("1%"),
    checks("both").failed.count.equals(0),
    checks({ scenario: "All" }).passed.rate.atLeast("99%"),
    iterations("All").failed.rate.below("1%"),
    scriptErrors().rate.below("1%"),
    iterationCount("All").count.above(10),
  ],
});
