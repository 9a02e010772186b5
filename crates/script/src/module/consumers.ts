// Consumers of a test: functions that receive the messages of a protocol. The host calls them in the realm of stubs' functions.
import { show } from "loadstone:values";

type Handler = (message: any) => unknown;

/** A consumer of the file: its protocol, that protocol's declaration of it, and its function. */
interface Consumer {
  kind: string;
  declaration: object;
  handle: Handler;
}

/** All of them, in the order of their declaration. */
export const consumers: Consumer[] = [];

/** Throws once the test file has been evaluated. `what` is the call. */
export function unsealedConsumers(what: string) {
  if (__loadstone.declared?.sealed) throw new Error(`${what}: declare consumers at the top level of the test, outside scenarios`);
}

/** Adds a consumer. `kind` and `declaration` are what `inbound::ConsumerKind` reads; `message` is what its function takes, for errors. */
export function consume(what: string, kind: string, declaration: object, message: string, handle: unknown) {
  if (typeof handle !== "function") throw new TypeError(`${what}: ${show(handle)} is not a function that takes ${message}`);
  consumers.push({ kind, declaration, handle: handle as Handler });
}

/** Calls the function of a consumer; called by the host. */
__loadstone.consume = (number: number, message: any) => consumers[number]!.handle(message);
