// gRPC stubs with the types that `loadstone types` writes, and TCP stubs.
import { stub } from "loadstone";

declare module "loadstone" {
  interface GrpcMethods {
    "typed.v1.Shop/Get": { request: { id?: number | bigint }; response: { id: string }; received: { id: string }; answer: { name?: string } };
    // As in files from before stubs were typed.
    "typed.v1.Shop/Old": { request: { id?: number }; response: { id: number } };
  }
}

const shop = stub.grpc({ listen: "127.0.0.1:50051", faults: { share: "1%", fault: "UNAVAILABLE" }, limit: { rate: "100/s", reject: "RESOURCE_EXHAUSTED" } });
const url: string = shop.url;
shop
  .on("typed.v1.Shop/Get", (call) => ({ message: { name: call.message.id.toUpperCase() }, delay: "5ms", trailers: { "x-a": url } }), { delay: "1ms" })
  .on("typed.v1.Shop/Get", { messages: [{ name: "a" }, {}], every: "10ms" })
  .on("typed.v1.Shop/Old", (call) => ({ message: { whatever: call.message.id } }))
  .on("unknown.v1.Shop/Get", (call) => (call.messages.length > 1 ? { status: "ABORTED", details: call.header("x") ?? "" } : { message: { any: [] } }))
  .on("unknown.v1.Shop/Get", { status: "NOT_FOUND" });
// @ts-expect-error the answer has no such field
shop.on("typed.v1.Shop/Get", { message: { nmae: "x" } });
// @ts-expect-error the answer of a function has no such field
shop.on("typed.v1.Shop/Get", () => ({ message: { name: 5 } }));
// @ts-expect-error the call has no such field
shop.on("typed.v1.Shop/Get", (call) => ({ message: { name: call.message.nmae } }));
// @ts-expect-error statuses have names
shop.on("typed.v1.Shop/Get", { status: 5 });
// @ts-expect-error faults have names
stub.grpc({ faults: { share: 1, fault: 503 } });
// @ts-expect-error unknown option
stub.grpc({ dealy: "1s" });

const cache = stub.tcp({ until: "\r\n", greeting: "hello\r\n", faults: [{ share: 0.1, fault: "reset" }] }, ({ text, bytes }) => {
  if (text === "quit\r\n") return { answer: "bye\r\n", close: true };
  return bytes.length > 9 ? bytes : undefined;
});
const address: string = cache.address;
stub.tcp({ length: address.length, echo: true });
// @ts-expect-error a TCP fault has no status
stub.tcp({ faults: { share: 1, fault: 503 } });
// @ts-expect-error a length is a number
stub.tcp({ length: "4" });
