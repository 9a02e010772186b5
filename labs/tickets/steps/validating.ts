// What a validator in a bus or a station does at the validation service, step by step: for scenarios to put together.

import { template, type Socket, type User } from "loadstone";

/** A decision about a ticket, as the service gave it. */
export interface Decision {
  ticket: string;
  access: boolean;
}

/** Connects and says who it is. */
export async function connect(user: User): Promise<Socket> {
  const socket = await user.ws("/validate/json/v1", { name: "Connect" });
  await socket.request(template("../messages/init.txt", { validator: `validator-${user.number}` }), { name: "Init", match: /^init-response/ });
  return socket;
}

/** Asks whether a barcode opens the gate; `undefined` when no response came. */
export async function tap(socket: Socket, barcode: string): Promise<Decision | undefined> {
  const response = await socket.request(template("../messages/tap.txt", { barcode }), {
    name: "Tap response",
    match: /^tap-response/m,
    within: "5s",
  });
  if (!response.ok) return undefined;
  return { ticket: response.regex(/"ticket" *: *"([^"]*)"/)[1], access: response.regex(/"access" *: *(true|false)/)[1] === "true" };
}

/** Tells the service what was decided, and waits for nothing. */
export async function notify(socket: Socket, decision: Decision) {
  await socket.send(template("../messages/notify.txt", { ...decision, confirm: false }));
}

/** Tells the service what was decided, and waits until it is stored. */
export async function deliver(socket: Socket, decision: Decision) {
  await socket.request(template("../messages/notify.txt", { ...decision, confirm: true }), { name: "Deliver", match: /^notify-response/ });
}
