// `messages()`, for every object that receives messages.

/** The result of `messages()`: a custom iterator, since a suspended generator would need half a kilobyte more for every idle user. */
class Messages {
  constructor(readonly socket: any) {}
  next() {
    return this.socket.next();
  }
  [Symbol.asyncIterator]() {
    return this;
  }
}

function messages(this: any) {
  return new Messages(this);
}

for (const prototype of __loadstone.messageSources) {
  Object.defineProperty(prototype, "messages", { value: messages, writable: true, configurable: true });
}
