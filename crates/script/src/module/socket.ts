// The parts of the socket object that are easier said in TypeScript.

async function* messages(this: any) {
  for (;;) {
    const message = await this.next();
    if (message === undefined) return;
    yield message;
  }
}

Object.defineProperty(__loadstone.socketPrototype, "messages", { value: messages, writable: true, configurable: true });
