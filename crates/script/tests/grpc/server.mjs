// A gRPC server by grpc-js that follows the commands in its requests. Prints its port, and a line for each call that its client cancels.
import { readFileSync } from "node:fs";
import { Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { loadPackageDefinition } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";

const definition = loadSync(new URL("shop.proto", import.meta.url).pathname, { keepCase: false, longs: String, enums: String, defaults: true });
const { Shop } = loadPackageDefinition(definition).shop.v1;

const trailers = (entries) => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(entries)) metadata.set(name, value);
  return metadata;
};

const shop = {
  getProduct(call, answer) {
    call.sendMetadata(trailers({ "x-region": "eu" }));
    const seen = {};
    for (const [name, value] of Object.entries(call.metadata.getMap())) seen[name] = Buffer.isBuffer(value) ? value.toString("hex") : String(value);
    seen.deadline = String(call.getDeadline());
    seen.connection = call.getPeer();
    const product = { id: call.request.productId, name: `Product ${call.request.productId}`, state: "IN_STOCK", tags: ["a", "b"], metadata: seen };
    answer(null, product, trailers({ "x-cost": "7" }));
  },
  echo(call, answer) {
    answer(null, call.request);
  },
  fail(call, answer) {
    answer({ code: status[call.request.status], details: call.request.details, metadata: trailers({ "x-why": "noticed" }) });
  },
  sleep(call) {
    call.on("cancelled", () => console.log("cancelled Sleep"));
  },
  watch(call) {
    call.on("cancelled", () => console.log("cancelled Watch"));
    const { count, status: ending, endless } = call.request;
    for (let cents = 1; cents <= count; cents += 1) call.write({ cents });
    if (endless) return;
    if (ending) call.emit("error", { code: status[ending], details: "as asked" });
    else call.end(trailers({ "x-count": String(count) }));
  },
  upload(call, answer) {
    let [count, cents] = [0, 0];
    call.on("data", (price) => ([count, cents] = [count + 1, cents + price.cents]));
    call.on("end", () => answer(null, { count, cents }));
  },
  chat(call) {
    call.on("data", ({ text }) => call.write({ text: text.toUpperCase() }));
    call.on("end", () => call.end());
  },
};

const server = new Server();
server.addService(Shop.service, shop);
new ReflectionService(definition).addToServer(server);
new HealthImplementation({ "": "SERVING", "shop.v1.Shop": "NOT_SERVING" }).addToServer(server);
const [key, certificate] = process.argv.slice(2);
const credentials = key
  ? ServerCredentials.createSsl(null, [{ private_key: readFileSync(key), cert_chain: readFileSync(certificate) }])
  : ServerCredentials.createInsecure();
server.bindAsync("127.0.0.1:0", credentials, (error, port) => {
  if (error) throw error;
  console.log(`port ${port}`);
});
// The test has ended.
process.stdin.on("end", () => process.exit(0)).resume();
