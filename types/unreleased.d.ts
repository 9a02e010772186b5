// Designed, and not built yet: `loadstone init` does not write this file and docs/script.md does not mention it.
// When a part is built, move its declarations into loadstone.d.ts; the shapes here were agreed so that both fit.

declare module "loadstone" {
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
