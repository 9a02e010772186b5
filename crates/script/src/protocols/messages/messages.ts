// `messages()`, for every object that receives messages.

/** What `messages()` gives: an iterator of its own, since a suspended generator would take half a kilobyte more of every idle user. */
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
