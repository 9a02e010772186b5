// The module "k6/experimental/streams": streams of values, by the Streams Standard (https://streams.spec.whatwg.org), as far as k6 has them.

type StreamState = "readable" | "closed" | "errored";

/** A promise, and the functions that settle it. */
class Settlable {
  promise: Promise<any>;
  resolve!: (value?: any) => void;
  reject!: (reason: any) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    // Nobody has to wait for it.
    this.promise.catch(() => {});
  }
}

const unsupported = (what: string) => new Error(`NotSupportedError: ${what} is not supported yet`);

/** The functions of the stream's source, with the source as `this`. */
const algorithm = (source: any, name: string) => {
  const given = source[name];
  if (given === undefined || given === null) return () => undefined;
  if (typeof given !== "function") throw new TypeError(`${name} must be a function`);
  return (...values: any[]) => given.apply(source, values);
};

class ReadableStreamDefaultController {
  #stream: ReadableStream;
  #queue: { value: any; size: number }[] = [];
  #total = 0;
  #closing = false;
  #started = false;
  #pulling = false;
  #pullAgain = false;
  #highWaterMark: number;
  #sizeOf: (value: any) => any;
  #pull: (controller: any) => any;
  #cancel: (reason: any) => any;

  constructor(stream: ReadableStream, source: any, strategy: any) {
    this.#stream = stream;
    const mark = strategy.highWaterMark === undefined ? 1 : Number(strategy.highWaterMark);
    if (Number.isNaN(mark) || mark < 0) throw new RangeError("highWaterMark must be a non-negative number");
    if (strategy.size !== undefined && typeof strategy.size !== "function") throw new TypeError("size must be a function");
    [this.#highWaterMark, this.#sizeOf] = [mark, strategy.size ? (value: any) => strategy.size(value) : () => 1];
    this.#pull = algorithm(source, "pull");
    this.#cancel = algorithm(source, "cancel");
    const started = algorithm(source, "start")(this);
    Promise.resolve(started).then(
      () => {
        this.#started = true;
        this.pullIfNeeded();
      },
      (reason) => this.error(reason),
    );
  }

  /** How much more the queue takes. Below zero, it is too full. */
  get desiredSize(): number | null {
    if (this.#stream.state === "errored") return null;
    return this.#stream.state === "closed" ? 0 : this.#highWaterMark - this.#total;
  }

  enqueue(value: any) {
    if (this.#closing || this.#stream.state !== "readable") throw new TypeError("cannot close or enqueue");
    const waiting = this.#stream.reader?.waiting;
    if (waiting && waiting.length > 0) {
      waiting.shift()!.resolve({ done: false, value });
      return this.pullIfNeeded();
    }
    let size: number;
    try {
      size = Number(this.#sizeOf(value));
      if (Number.isNaN(size) || size < 0 || size === Infinity) throw new RangeError("size must be a finite, non-NaN number");
    } catch (error) {
      this.error(error);
      throw error;
    }
    this.#queue.push({ value, size });
    this.#total += size;
    this.pullIfNeeded();
  }

  close() {
    if (this.#closing || this.#stream.state !== "readable") throw new TypeError("cannot close or enqueue");
    this.#closing = true;
    if (this.#queue.length === 0) this.#stream.end();
  }

  error(reason?: any) {
    if (this.#stream.state !== "readable") return;
    this.#empty();
    this.#stream.fail(reason);
  }

  #empty() {
    [this.#queue, this.#total] = [[], 0];
  }

  static cancel(controller: ReadableStreamDefaultController, reason: any): Promise<void> {
    controller.#empty();
    return new Promise((resolve) => resolve(controller.#cancel(reason))).then(() => undefined);
  }

  /** Resolves a read: with a value of the queue, or when there is one. */
  static read(controller: ReadableStreamDefaultController, request: Settlable) {
    const first = controller.#queue.shift();
    if (first === undefined) {
      controller.#stream.reader!.waiting.push(request);
    } else {
      controller.#total = Math.max(0, controller.#total - first.size);
      if (controller.#closing && controller.#queue.length === 0) controller.#stream.end();
      request.resolve({ done: false, value: first.value });
    }
    controller.pullIfNeeded();
  }

  /** Asks the source for more, once at a time. */
  pullIfNeeded() {
    const isWaitedFor = (this.#stream.reader?.waiting.length ?? 0) > 0;
    if (this.#closing || this.#stream.state !== "readable" || !this.#started || !(isWaitedFor || this.desiredSize! > 0)) return;
    if (this.#pulling) {
      this.#pullAgain = true;
      return;
    }
    this.#pulling = true;
    new Promise((resolve) => resolve(this.#pull(this))).then(
      () => {
        this.#pulling = false;
        if (!this.#pullAgain) return;
        this.#pullAgain = false;
        this.pullIfNeeded();
      },
      (reason) => this.error(reason),
    );
  }
}

export class ReadableStream {
  #controller: ReadableStreamDefaultController;
  state: StreamState;
  stored: any;
  reader: ReadableStreamDefaultReader | undefined;

  constructor(source?: any, strategy?: any) {
    // Not among the stream's keys.
    for (const name of ["state", "stored", "reader"]) Object.defineProperty(this, name, { writable: true, value: undefined });
    this.state = "readable";
    const given = source ?? {};
    if (given.type === "bytes") throw unsupported("'bytes' stream");
    if (given.type !== undefined && given.type !== null) throw new TypeError("invalid underlying source type");
    this.#controller = new ReadableStreamDefaultController(this, given, strategy ?? {});
  }

  get locked(): boolean {
    return this.reader !== undefined;
  }

  getReader(options?: any): ReadableStreamDefaultReader {
    if (options?.mode !== undefined) throw unsupported(`'${options.mode}' mode`);
    return new ReadableStreamDefaultReader(this);
  }

  cancel(reason?: any): Promise<void> {
    if (this.locked) return Promise.reject(new TypeError("cannot cancel a locked stream"));
    return ReadableStream.cancel(this, reason);
  }

  tee() {
    throw unsupported("'tee()'");
  }

  static cancel(stream: ReadableStream, reason: any): Promise<void> {
    if (stream.state === "closed") return Promise.resolve();
    if (stream.state === "errored") return Promise.reject(stream.stored);
    stream.end();
    return ReadableStreamDefaultController.cancel(stream.#controller, reason);
  }

  static read(stream: ReadableStream, request: Settlable) {
    if (stream.state === "closed") return request.resolve({ done: true, value: undefined });
    if (stream.state === "errored") return request.reject(stream.stored);
    ReadableStreamDefaultController.read(stream.#controller, request);
  }

  end() {
    this.state = "closed";
    this.reader?.settle((request) => request.resolve({ done: true, value: undefined }));
    this.reader?.ended.resolve();
  }

  fail(reason: any) {
    [this.state, this.stored] = ["errored", reason];
    this.reader?.settle((request) => request.reject(reason));
    this.reader?.ended.reject(reason);
  }
}

export class ReadableStreamDefaultReader {
  #stream: ReadableStream | undefined;
  ended = new Settlable();
  waiting: Settlable[] = [];

  constructor(stream: ReadableStream) {
    if (!(stream instanceof ReadableStream)) throw new TypeError("expected a ReadableStream");
    if (stream.locked) throw new TypeError("stream is locked");
    for (const name of ["ended", "waiting"]) Object.defineProperty(this, name, { enumerable: false });
    this.#stream = stream;
    stream.reader = this;
    if (stream.state === "closed") this.ended.resolve();
    if (stream.state === "errored") this.ended.reject(stream.stored);
  }

  /** Resolves when the stream is closed. */
  get closed(): Promise<void> {
    return this.ended.promise;
  }

  read(): Promise<any> {
    if (!this.#stream) return Promise.reject(new TypeError("stream is undefined"));
    const request = new Settlable();
    ReadableStream.read(this.#stream, request);
    return request.promise;
  }

  cancel(reason?: any): Promise<void> {
    return this.#stream ? ReadableStream.cancel(this.#stream, reason) : Promise.reject(new TypeError("stream is undefined"));
  }

  releaseLock() {
    if (!this.#stream) return;
    const released = new TypeError("stream is not readable");
    if (this.#stream.state !== "readable") this.ended = new Settlable();
    this.ended.reject(released);
    this.settle((request) => request.reject(released));
    this.#stream.reader = undefined;
    this.#stream = undefined;
  }

  settle(settle: (request: Settlable) => void) {
    this.waiting.splice(0).forEach(settle);
  }
}

/** Counts values, whatever their size. */
export class CountQueuingStrategy {
  highWaterMark: number;

  constructor(options: any) {
    if (options === undefined) throw new TypeError("CountQueuingStrategy takes a single argument");
    this.highWaterMark = options.highWaterMark;
  }

  size(): number {
    return 1;
  }
}

export default { CountQueuingStrategy, ReadableStream, ReadableStreamDefaultReader };
