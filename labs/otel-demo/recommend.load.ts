// Load on `recommendation` of the OpenTelemetry Demo alone; a stub replaces product-catalog. `cargo xtask otel-demo` starts the service and copies this file
// next to the demo's demo.proto.

import { arrivals, observe, param, proto, scenario, stub, test } from "loadstone";

proto("demo.proto");

const rate = param.number("rate", { default: 5, min: 1, help: "calls per second" });
const seconds = param.number("seconds", { default: 30, min: 5, help: "length of the load" });

const PRODUCTS = [
  "OLJCESPC7Z",
  "66VCHSJNUP",
  "1YMWWN1N4O",
  "L9ECAV7KIM",
  "2ZYFJ3GM2N",
  "0PUK6V6EV0",
  "LS4PSXUNUM",
  "9SIQT8TOJO",
  "6E92ZMYYFZ",
  "HQTGWGPNH4",
];

stub
  .grpc({ name: "product-catalog", listen: "127.0.0.1:3550", delay: "3ms" })
  .on("oteldemo.ProductCatalogService/ListProducts", { message: { products: PRODUCTS.map((id) => ({ id, name: `Product ${id}` })) } });

const recommend = scenario("Recommend", (user) =>
  user.grpc("oteldemo.RecommendationService/ListRecommendations", { userId: "1", productIds: [user.random.choice(PRODUCTS)] }, { name: "Recommend" }),
);

export default test({
  target: "http://127.0.0.1:9001",
  load: recommend.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.traces({ listen: "127.0.0.1:4418" }),
    observe.process({ port: 9001, name: "recommendation" }),
    observe.python({ port: 9001, name: "recommendation-python" }),
    observe.host(),
  ],
});
