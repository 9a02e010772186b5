// Load on the service `ad` of the OpenTelemetry Demo. `cargo xtask otel-demo` starts the service and copies this file next to the demo's demo.proto.

import { arrivals, observe, param, proto, scenario, test } from "loadstone";

proto("demo.proto");

const rate = param.number("rate", { default: 30, min: 1, help: "calls per second" });
const seconds = param.number("seconds", { default: 30, min: 5, help: "length of the load" });

const CATEGORIES = ["binoculars", "telescopes", "accessories", "assembly", "travel", "books"];

const ads = scenario("Ads", (user) => user.grpc("oteldemo.AdService/GetAds", { contextKeys: [user.random.choice(CATEGORIES)] }, { name: "Get ads" }));

export default test({
  target: "http://127.0.0.1:9555",
  load: ads.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.traces({ listen: "127.0.0.1:4418" }),
    observe.process({ port: 9555, name: "ad" }),
    observe.jvm({ port: 9555, name: "ad-jvm" }),
    observe.host(),
  ],
});
