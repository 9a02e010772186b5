import grpc, { Stream } from "k6/net/grpc";
import { check, sleep } from "k6";
import { Counter } from "k6/metrics";

const ADDRESS = __ENV.SHOP_ADDRESS || "127.0.0.1:9";
const lines = new Counter("lines");
const client = new grpc.Client();
client.load(["protos"], "shop.proto");

export const options = {
  scenarios: {
    calls: { executor: "per-vu-iterations", exec: "calls", vus: 2, iterations: 2 },
    streams: { executor: "per-vu-iterations", exec: "streams", vus: 1, iterations: 2 },
  },
  thresholds: { grpc_req_duration: ["p(95)<2000"], "grpc_req_duration{name:Product}": ["max<3000"] },
};

export function calls() {
  if (__ITER == 0) {
    client.connect(ADDRESS, { plaintext: true, timeout: "5s" });
  }
  const params = { metadata: { "x-who": "k6" }, tags: { name: "Product" }, timeout: 4000 };
  const product = client.invoke("shop.v1.Shop/GetProduct", { product_id: 7 }, params);
  check(product, {
    "status is OK": (r) => r && r.status === grpc.StatusOK,
    "name came": (r) => r.message.name === "Product 7",
    "metadata went": (r) => r.message.metadata["x-who"] === "k6",
    "header came": (r) => r.headers["x-region"][0] === "eu",
    "trailer came": (r) => r.trailers["x-cost"] == "7",
  });
  const missing = client.invoke("/shop.v1.Shop/Fail", { status: "NOT_FOUND", details: "no such thing" });
  check(missing, {
    "status by number": (r) => r.status === 5,
    "words of the server": (r) => r.error.message.includes("no such"),
  });
  const health = client.healthCheck("shop.v1.Shop");
  check(health, { "not serving": (r) => r.status === grpc.HealthCheckNotServing });
  client.close();
}

export function streams() {
  client.connect(ADDRESS, { plaintext: true });
  const prices = new Stream(client, "shop.v1.Shop/Watch");
  let seen = 0;
  prices.on("data", (price) => {
    seen += price.cents;
  });
  prices.on("end", () => {
    check(seen, { "all prices came": (sum) => sum === 6 });
    client.close();
  });
  prices.write({ count: 3 });
  const upload = new Stream(client, "shop.v1.Shop/Upload", { tags: { name: "Upload" } });
  upload.on("data", (total) => check(total, { "all counted": (t) => t.count === 3 }));
  for (const cents of [1, 20, 300]) {
    upload.write({ cents });
    sleep(0.05);
  }
  upload.end();
  const broken = new Stream(client, "shop.v1.Shop/Watch");
  broken.on("error", (e) => check(e, { "its error came": (error) => error.message === "as asked" }));
  broken.write({ count: 1, status: "ABORTED" });
  lines.add(1);
}
