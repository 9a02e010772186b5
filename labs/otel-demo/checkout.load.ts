// Load on `checkout`, `payment` and `product-catalog` of the OpenTelemetry Demo. `cargo xtask otel-demo` starts the services and copies this file next to
// the demo's demo.proto. Stubs replace cart, currency, shipping and email.

import { arrivals, observe, param, proto, scenario, stub, test } from "loadstone";

proto("demo.proto");

const rate = param.number("rate", { default: 8, min: 1, help: "orders per second" });
const seconds = param.number("seconds", { default: 30, min: 5, help: "length of the load" });

stub
  .grpc({ name: "cart", listen: "127.0.0.1:7070", delay: "2ms" })
  .on("oteldemo.CartService/GetCart", { message: { userId: "1", items: [{ productId: "66VCHSJNUP", quantity: 1 }, { productId: "1YMWWN1N4O", quantity: 2 }] } })
  .on("oteldemo.CartService/EmptyCart", { message: {} });
stub.grpc({ name: "currency", listen: "127.0.0.1:7001", delay: "1ms" }).on("oteldemo.CurrencyService/Convert", (call) => ({ message: call.message.from }));
stub
  .http({ name: "shipping", listen: "127.0.0.1:7050", delay: "4ms" })
  .on("POST /get-quote", { json: { cost_usd: { currency_code: "USD", units: 8, nanos: 990000000 } } })
  .on("POST /ship-order", { json: { tracking_id: "18e5f3a0-0c55-4f0e-9b0a-3d6f6f1f9c11" } });
stub.http({ name: "email", listen: "127.0.0.1:7060", delay: "10ms" }).on("POST /send_order_confirmation", { status: 200 });

const order = scenario("Order", (user) =>
  user.grpc(
    "oteldemo.CheckoutService/PlaceOrder",
    {
      userId: "1",
      userCurrency: "USD",
      email: "someone@example.com",
      address: { streetAddress: "1600 Amphitheatre Parkway", city: "Mountain View", state: "CA", country: "United States", zipCode: "94043" },
      creditCard: { creditCardNumber: "4432801561520454", creditCardCvv: 672, creditCardExpirationYear: 2039, creditCardExpirationMonth: 1 },
    },
    { name: "Place order" },
  ),
);

export default test({
  target: "http://127.0.0.1:5050",
  load: order.run(arrivals(rate).for(`${seconds}s`)),
  observe: [
    observe.traces({ listen: "127.0.0.1:4418" }),
    observe.process({ port: 5050, name: "checkout" }),
    observe.native({ port: 5050, name: "checkout-go" }),
    observe.process({ port: 50051, name: "payment" }),
    observe.node({ port: 50051, name: "payment-node" }),
    observe.process({ port: 3550, name: "product-catalog" }),
    observe.postgres("postgres://postgres@127.0.0.1:5439/astronomy_db"),
    observe.host(),
  ],
});
