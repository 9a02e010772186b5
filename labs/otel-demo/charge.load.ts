// Load on `payment` of the OpenTelemetry Demo alone. `cargo xtask otel-demo` starts the service and copies this file next to the demo's demo.proto.

import { arrivals, observe, param, proto, scenario, test } from "loadstone";

proto("demo.proto");

const rate = param.number("rate", { default: 20, min: 1, help: "charges per second" });
const seconds = param.number("seconds", { default: 30, min: 5, help: "length of the load" });

const charge = scenario("Pay", (user) =>
  user.grpc(
    "oteldemo.PaymentService/Charge",
    {
      amount: { currencyCode: "USD", units: user.random.integer(5, 400), nanos: 990000000 },
      creditCard: { creditCardNumber: "4432801561520454", creditCardCvv: 672, creditCardExpirationYear: 2039, creditCardExpirationMonth: 1 },
    },
    { name: "Charge" },
  ),
);

export default test({
  target: "http://127.0.0.1:50051",
  load: charge.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.traces({ listen: "127.0.0.1:4418" }),
    observe.process({ port: 50051, name: "payment" }),
    observe.node({ port: 50051, name: "payment-node" }),
    observe.host(),
  ],
});
