// What a traveller does at the issuing service, step by step: for scenarios to put together.

import { template, type User } from "loadstone";

/** Ids of the products that a channel sells. */
export async function listProducts(user: User, channel: number): Promise<string[]> {
  const list = await user.get(`/v1/channels/${channel}/products`, { name: "List products", expect: { status: 200 } });
  return list.jsonAll("$.products[*].id");
}

export async function showProduct(user: User, channel: number, product: string) {
  await user.get(`/v1/channels/${channel}/products/${product}`, {
    name: "Show product",
    expect: { status: 200, json: { "$.id": product, "$.price_cents": (cents: number) => cents > 0 } },
  });
}

/** Creates a ticket; gives back its id. */
export async function createTicket(user: User, product: string): Promise<string> {
  const created = await user.post("/v1/tickets/create", {
    name: "Create ticket",
    headers: { "content-type": "application/json" },
    body: template("../messages/ticket.json", { product }),
    expect: { status: 201, json: { "$.state": "created" } },
  });
  return created.json("$.ticketId");
}

export async function activateTicket(user: User, ticket: string) {
  await user.post(`/v1/tickets/${ticket}/activate`, { name: "Activate ticket", expect: { status: 200, json: { "$.state": "active" } } });
}

/** The barcode of an active ticket. */
export async function getBarcode(user: User, ticket: string): Promise<string> {
  const response = await user.get(`/v1/tickets/${ticket}/barcode`, { name: "Get barcode", expect: { status: 200 } });
  return response.regex(/"barcode" *: *"([\w-]+\.[\w-]+)"/)[1];
}
