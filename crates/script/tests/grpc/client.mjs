// A gRPC client by grpc-js. It makes the calls of each line of its input, one after the other, and prints the result of each. node
// client.mjs PORT
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Metadata, credentials, loadPackageDefinition, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const options = { keepCase: false, longs: String, enums: String, defaults: true };
const require = createRequire(import.meta.url);
const load = (file) => loadPackageDefinition(loadSync(file, options));
const address = `127.0.0.1:${process.argv[2]}`;
const insecure = credentials.createInsecure();
const { Shop } = load(new URL("shop.proto", import.meta.url).pathname).shop.v1;
const shop = new Shop(address, insecure);
// 2: gzip.
const packed = new Shop(address, insecure, { "grpc.default_compression_algorithm": 2 });
const health = new (load(join(dirname(require.resolve("grpc-health-check/package.json")), "proto/health/v1/health.proto")).grpc.health.v1.Health)(address, insecure);
// As grpc-js's reflection service describes itself.
const described = join(dirname(require.resolve("@grpc/reflection/package.json")), "build/proto/grpc/reflection/v1/reflection.proto");
const reflection = new (load(described).grpc.reflection.v1.ServerReflection)(address, insecure);
const clients = { shop, packed, health, reflection };

const plain = (metadata) => Object.fromEntries(Object.entries(metadata?.getMap() ?? {}).map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString("hex") : value]));

/** How a call ended. */
function perform({ client = "shop", method, send = [{}], metadata = {}, timeout = 10_000 }) {
  const fields = new Metadata();
  for (const [name, values] of Object.entries(metadata)) for (const value of [values].flat()) fields.add(name, value);
  const began = performance.now();
  const end = { messages: [], at: [] };
  return new Promise((resolve) => {
    const of = clients[client];
    const about = { deadline: Date.now() + timeout };
    const requests = of[method].requestStream, responses = of[method].responseStream;
    const elapsed = () => Math.round(performance.now() - began);
    const answered = (error, message) => {
      if (error) end.error = error.details;
      else end.messages.push(message);
    };
    const call = requests && responses ? of[method](fields, about)
      : requests ? of[method](fields, about, answered)
      : responses ? of[method](send[0], fields, about)
      : of[method](send[0], fields, about, answered);
    call.on("metadata", (received) => (end.metadata = plain(received)));
    call.on("status", ({ code, details, metadata: trailers }) => {
      Object.assign(end, { status: status[code], details, trailers: plain(trailers), elapsed: elapsed() });
      // The message of the answer comes first.
      setImmediate(() => resolve(end));
    });
    call.on("error", () => {});
    if (responses) {
      call.on("data", (message) => {
        end.messages.push(message);
        end.at.push(elapsed());
        // Bidirectional: the next message is sent once the last has been answered.
        if (requests && end.messages.length < send.length) call.write(send[end.messages.length]);
        else if (requests) call.end();
      });
    }
    if (requests && responses) call.write(send[0]);
    else if (requests) {
      for (const message of send) call.write(message);
      call.end();
    }
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const ends = [];
  for (const { times = 1, ...asked } of JSON.parse(line)) {
    for (let n = 0; n < times; n += 1) ends.push(await perform(asked));
  }
  console.log(JSON.stringify(ends));
}
process.exit(0);
