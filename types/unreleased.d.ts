// Designed, and not built yet: `loadstone init` does not write this file and docs/script.md does not mention it.
// When a part is built, move its declarations into loadstone.d.ts; the shapes here were agreed so that both fit.

declare module "loadstone" {
  interface TestDefinition {
    /** Sources of the system's own signals, read on the load's clock. */
    observe?: readonly Observer[];
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Observers

  /** Something that reads the system under test while the load runs. */
  export interface Observer {
    readonly kind: "observer";
  }

  /**
   * Declares what is watched. An observer that fails makes a warning, never a dead run.
   *
   * @example
   * observe: [observe.process({ port: 8080 }), observe.postgres("postgres://app@127.0.0.1/shop")]
   */
  export const observe: ObserverBuilder;

  /** How often an observer reads, and what its signals are called. */
  export interface ObserverOptions {
    /** Name in reports. Default: the kind and its address. */
    name?: string;
    /** Time between readings. Default: "1s". */
    every?: Duration;
  }

  /** Builders of observers. */
  export interface ObserverBuilder {
    /** A local process and its children: CPU, run-queue delay, memory, threads, descriptors, sockets by state, I/O. */
    process(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions): Observer;
    /** This machine: CPU, steal, pressure stall, memory, disk, network. */
    host(options?: ObserverOptions): Observer;
    /** PostgreSQL: active sessions by wait event and statement, locks, commits, rollbacks, tuples, WAL, connections. */
    postgres(url: string, options?: ObserverOptions): Observer;
    /** MySQL or MariaDB: active sessions by wait event and statement, commits, rows, redo log, connections. */
    mysql(url: string, options?: ObserverOptions): Observer;
    /** Redis: `INFO`, and the lengths of the named lists and streams. */
    redis(url: string, options?: ObserverOptions & { lists?: readonly string[]; streams?: readonly string[] }): Observer;
    /** A Prometheus or OpenMetrics endpoint. */
    prometheus(url: string, options?: ObserverOptions & { only?: readonly string[] }): Observer;
    /** Listens for StatsD and DogStatsD packets. Default: "127.0.0.1:8125". */
    statsd(options?: ObserverOptions & { listen?: string }): Observer;
    /** Any query with one row: each of its columns that is a number becomes a signal. */
    sql(options: ObserverOptions & { url: string; query: string }): Observer;
  }

  /**
   * A signal of an observer, by its full name: `process:8080/cpu`.
   *
   * @example
   * signal("postgres/sessions{wait=Lock:tuple}").max.below(5)
   */
  export function signal(name: string): SignalMetric;

  /** What can be taken of a signal. Bounds are in the signal's own unit. */
  export interface SignalMetric {
    readonly mean: Bounds<number>;
    readonly min: Bounds<number>;
    readonly max: Bounds<number>;
    readonly last: Bounds<number>;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Stubs

  /** Makes simulated endpoints, which the system under test calls. */
  export const stub: {
    /**
     * An HTTP server that runs beside the load.
     *
     * @example
     * const subscriber = stub.http({ listen: "127.0.0.1:9099", delay: "loguniform(100ms, 2s)", limit: { rate: "360/s", reject: 429 } });
     */
    http(options: StubOptions): HttpStub;
  };

  /** How a stub answers where no route says otherwise. */
  export interface StubOptions {
    /** Address and port to listen on. */
    listen: string;
    /** Time until the answer. Default: none. */
    delay?: Delay;
    /** Status of the answer. Default: 200. */
    status?: number;
    headers?: Headers;
    /** Body of the answer: a text, or (by `json`) a value. */
    body?: string;
    json?: unknown;
    /** Share of requests that are answered with an error, or whose connection is reset. */
    errors?: { share: Share; status?: number | "reset" };
    /** Bounds that a real endpoint would have. */
    limit?: { rate?: Rate; concurrent?: number; reject?: number; retryAfter?: Duration };
  }

  /** A simulated HTTP endpoint. */
  export interface HttpStub {
    /** Base URL of the endpoint. */
    readonly url: string;
    /** Does something on every request to a route (`"POST /webhook"`, `"GET /accounts/:id"`), and may return the answer. */
    on(route: string, handle: (request: StubRequest) => StubAnswer | void, options?: Partial<Omit<StubOptions, "listen">>): HttpStub;
  }

  /** A request that a stub received. */
  export interface StubRequest extends Extractable {
    readonly method: string;
    readonly path: string;
    /** Parts of the path that the route names. */
    readonly parameters: Readonly<Record<string, string>>;
    readonly headers: Headers;
    header(name: string): string | undefined;
  }

  /** What a stub answers. */
  export interface StubAnswer {
    status?: number;
    headers?: Headers;
    body?: string;
    json?: unknown;
    delay?: Delay;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Flows

  /**
   * An asynchronous journey, correlated by a key: it starts in one place and finishes in another. Journeys still open at the end are
   * counted as open, never as fast.
   *
   * @example
   * const delivery = flow("Time to send", { timeout: "15m" });
   */
  export function flow(name: string, options?: { timeout?: Duration }): Flow;

  /** A declared journey. Keys are texts or numbers. */
  export interface Flow {
    readonly name: string;
    /** The journey of this key begins. */
    start(key: string | number): void;
    /** The journey of this key has reached a named stage. */
    stage(name: string, key: string | number): void;
    /** The journey of this key has ended. */
    finish(key: string | number): void;
  }

  /** End-to-end time of a flow, or time to reach one of its stages. */
  export function flowTime(name: string, stage?: string): TimeMetric;
}
