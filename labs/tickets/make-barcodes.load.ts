// Issues tickets and writes their barcodes to barcodes.csv, which validation.load.ts feeds on. The validation service knows the barcodes of the
// issuing service that it was started with: make new ones when the lab was started anew.
//
//   loadstone run labs/tickets/make-barcodes.load.ts -p barcodes=2000

import { collect, failures, generator, iterations, param, scenario, test } from "loadstone";
import { activateTicket, createTicket, getBarcode } from "./steps/issuing";

const barcodes = collect<{ ticket: string; product: string; barcode: string }>("barcodes.csv");
const numbers = generator((n) => n);

const issue = scenario("Issue a ticket", async (user) => {
  const product = numbers.next() % 100 === 0 ? "OneYear" : "OneDay"; // one traveller in a hundred has a yearly ticket
  const ticket = await createTicket(user, product);
  await activateTicket(user, ticket);
  barcodes.add({ ticket, product, barcode: await getBarcode(user, ticket) });
});

export default test({
  target: param.url("target", { default: "http://127.0.0.1:8080", help: "the issuing service" }),
  load: issue.run(iterations(param.number("barcodes", { default: 2000, min: 1, help: "how many" })).users(10)),
  thresholds: [failures().count.equals(0)],
});
