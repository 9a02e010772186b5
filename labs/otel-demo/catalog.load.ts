// Load on `recommendation` and `product-catalog` of the OpenTelemetry Demo. `cargo xtask otel-demo` starts the services and copies this file next to the
// demo's demo.proto.

import { arrivals, observe, param, proto, scenario, test } from "loadstone";

proto("demo.proto");

const rate = param.number("rate", { default: 5, min: 1, help: "visitors per second" });
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

const CATALOG = "http://127.0.0.1:3550";

// A page of the shop: the product, what else may interest, and now and then a search.
const browse = scenario("Browse", async (user) => {
  const id = user.random.choice(PRODUCTS);
  await user.grpc("oteldemo.ProductCatalogService/GetProduct", { id }, { name: "Get product", target: CATALOG });
  await user.grpc("oteldemo.RecommendationService/ListRecommendations", { userId: "1", productIds: [id] }, { name: "Recommend" });
  if (user.random.integer(1, 3) === 1) {
    await user.grpc("oteldemo.ProductCatalogService/SearchProducts", { query: "telescope" }, { name: "Search", target: CATALOG });
  }
});

export default test({
  target: "http://127.0.0.1:9001",
  load: browse.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.traces({ listen: "127.0.0.1:4418" }),
    observe.process({ port: 9001, name: "recommendation" }),
    observe.python({ port: 9001, name: "recommendation-python" }),
    observe.process({ port: 3550, name: "product-catalog" }),
    observe.native({ port: 3550, name: "product-catalog-go" }),
    observe.postgres("postgres://postgres@127.0.0.1:5439/astronomy_db"),
    observe.host(),
  ],
});
