// Types of the Loadstone script API. `loadstone init` writes this file to your folder of tests, so that an editor completes and checks them. docs/script.md is
// generated from the comments below: `cargo xtask gen`.
//
// Deliberately absent: `fetch` and an ambient "current user". Several users share one JavaScript realm, so every request goes through the `user` that a
// scenario receives. Also absent: Node's built-in modules, and the browser's DOM.

declare module "loadstone" {
  // ───────────────────────────────────────────────────────────────────────────
  // # The test
  // One file, `*.load.ts`, declares its parameters, scenarios and load, and exports one test by default.

  /**
   * Describes the whole test. A test file exports exactly one, as its default export.
   *
   * @example
   * export default test({
   *   target: "http://127.0.0.1:8080",
   *   load: browse.run(arrivals(10).for("1m")),
   *   thresholds: [responseTime().p99.below("200ms"), failures().rate.below("1%")],
   * });
   */
  export function test(definition: TestDefinition): Test;

  /**
   * Distinguishes types of the same shape; not for scripts.
   *
   * @unreleased
   */
  const brand: unique symbol;

  /** The result of {@link test}. Use it only with `export default`. */
  export interface Test {
    readonly [brand]: "test";
  }

  /**
   * Describes what `loadstone watch` observes while another tool generates the load. Use its result only with `export default`.
   *
   * @example
   * export default watch({
   *   observe: [observe.process({ port: 8080 }), observe.postgres("postgres://app@127.0.0.1/shop")],
   *   thresholds: [responseTime().p99.below("200ms")],
   * });
   *
   * @example
   * export default watch({
   *   record: proxy.http({ listen: "127.0.0.1:18080", to: "http://127.0.0.1:8080" }),
   *   observe: [observe.process({ port: 8080 })],
   * });
   *
   * @unreleased
   */
  export function watch(definition: WatchDefinition): Watch;

  /** The result of {@link watch}. Use it only with `export default`. */
  export interface Watch {
    readonly [brand]: "watch";
  }

  /** The parts of a file for `loadstone watch`. */
  export interface WatchDefinition {
    /** Loadstone's proxy, whose requests are the record: see {@link proxy}. Default: the record of the tool, or of the flags `--record` and `--follow`. */
    record?: RecordingProxy;
    /** Sources of the system's own signals: see {@link observe}. Default: none. */
    observe?: readonly Observer[];
    /** Objectives of the run. Default: none. */
    thresholds?: readonly Threshold[];
  }

  /** The parts of a test. Only `load` is required. */
  export interface TestDefinition {
    /** Name in reports and of the run's folder. Default: the file's name without `.load.ts`. */
    name?: string;
    /**
     * Base URL of relative request paths. Its path precedes each of them: with `"http://127.0.0.1:8080/api"`, `user.get("/task")` requests `/api/task`.
     * Redirects, and links in responses, are relative to the host: `new URL(link, response.url)` completes a link. `"unix:/run/app.sock"` is a Unix socket,
     * which then serves every host. Default: none, and every request needs a full URL.
     */
    target?: string;
    /** The load: one `scenario.run(…)`, a list (all at the same time), or a {@link sequence}. Nest them freely. */
    load: Load;
    /** Objectives of the run. If one fails, `loadstone run` ends with the exit code "thresholds failed". Default: none. */
    thresholds?: readonly Threshold[];
    /** Sources of the system's own signals, read on the load's clock: see {@link observe}. Default: none. */
    observe?: readonly Observer[];
    /** Headers of every request of every scenario. A scenario's and a request's own headers take precedence. */
    headers?: Headers;
    /** Credentials for every request to the target's origin. A scenario's and a request's own credentials take precedence. */
    auth?: Auth;
    /** Limits and switches for the whole run. */
    options?: TestOptions;
  }

  /** The redirects that requests follow. */
  export interface RedirectOptions {
    /** Maximum number per request; 0 follows none. Default: 10. */
    limit?: number;
    /** Further hosts, such as `"login.example.com"`, or `"*.example.com"` for all hosts below a domain. */
    hosts?: string[];
  }

  /** PEM files, or a PKCS #12 file (`.p12`, `.pfx`). `passphrase`: of the key, if it is encrypted; it is masked in all outputs. */
  export type ClientCertificate = { certificate: string; key: string; passphrase?: string } | { pkcs12: string; passphrase?: string };

  /** Limits and switches for the whole run. */
  export interface TestOptions {
    /** Seed of all random draws. The same seed and test repeat the same draws. Default: 1. */
    seed?: number;
    /** Time limit of one request, from its start to the last byte of the response. Default: "30s". */
    requestTimeout?: Duration;
    /** How long running iterations may continue after their load has ended. Then they are interrupted and counted as such. Default: "30s". */
    gracefulStop?: Duration;
    /**
     * Open load: arrivals of one worker that are due within this time of the first one start together, with the last of them. Longer windows save CPU
     * time of the generator at high rates. The others' wait counts as schedule lag. "0" starts each by itself; at most "10ms". Default: "70us".
     */
    startWindow?: Duration;
    /**
     * Maximum number of series (request names, groups, checks). Further names are counted together as `(other)`. The same limit applies to parts by tags;
     * further parts are counted only in the whole. Default: 500.
     */
    seriesMax?: number;
    /** Largest response body. A larger one fails the request. Bytes. Default: 67,108,864 (64 MiB). */
    bodyBytesMax?: number;
    /**
     * Redirects per request: their maximum number (0 follows none), or also the other hosts to which they may lead. Without `hosts`, redirects lead to
     * the host of the request and to the hosts of the test's targets. A redirect to another host fails the request. Default: 10.
     */
    redirects?: number | RedirectOptions;
    /** Whether a user keeps its connections open between requests and iterations. Default: true. */
    keepAlive?: boolean;
    /**
     * Maximum number of connections of one user to one origin. Over HTTP/1.1, further parallel requests wait, as the phase `queue` of their time.
     *
     * Over HTTP/2 and in gRPC, many requests share a connection. A request uses the connection with the fewest requests in progress. Another connection is
     * opened only if each has some. Default: 6 over HTTP/1.1, 1 over HTTP/2 and in gRPC.
     */
    connectionsPerUser?: number;
    /**
     * Whether to resend a request once after an idle close: the server closed the connection before a byte of the request reached its machine. Methods that are
     * not idempotent (POST, PATCH) are resent only if not even their first byte had left. Over HTTP/2 and in gRPC, a request is also resent if the server
     * declares that it has not processed it: with REFUSED_STREAM, or with GOAWAY NO_ERROR. Resent requests are counted, and the first attempt is part of the
     * time. `false`: such a request fails. Default: true.
     */
    retryIdleClose?: boolean;
    /** When to send failed requests again, as applications do. Each attempt is counted and timed by itself. Default: never. */
    retry?: RetryPolicy | false;
    /** Accept any TLS certificate. Use it only if the target's certificate does not matter. Default: false. */
    insecure?: boolean;
    /** PEM files of further certificate authorities to trust, relative to the test file. */
    roots?: readonly string[];
    /**
     * A client certificate and its private key, in files relative to the test file. A list gives each user one of them, in turn by user number, for tests with
     * one certificate per customer or device.
     */
    clientCertificate?: ClientCertificate | readonly ClientCertificate[];
    /** Server name for TLS (SNI) and for the check of certificates, instead of each URL's host, for a target that is reached by address. Default: the host. */
    serverName?: string;
    /**
     * Whether TLS connections resume the session of an earlier connection to the same host, which saves the server most of a handshake. Users of one core with
     * the same client certificate share their sessions. The report counts handshakes and resumed sessions. `false`: every connection makes a full handshake,
     * like a first visit. Default: true.
     */
    tlsResumption?: boolean;
    /**
     * Local addresses to connect from, in turn: single ones, ranges (`"127.0.0.1-127.0.0.20"`) and blocks (`"10.0.0.0/28"`). Needed beyond about 28,000
     * connections to one address.
     */
    sources?: readonly string[];
    /**
     * Name servers to use instead of this machine's, such as `"10.0.0.53"` or `"127.0.0.1:5353"`. Answers are cached for their TTL, and all addresses of a name
     * are used in turn. A lookup is part of the request that needs it, as the phase `dns`.
     */
    nameServers?: readonly string[];
    /**
     * `"auto"`: HTTP/2 if TLS negotiates it (ALPN), otherwise HTTP/1.1. `"only"`: always HTTP/2, also without TLS. All requests of a user to one origin then
     * share one connection. WebSockets and event streams always use HTTP/1.1. Default: "off".
     */
    http2?: "off" | "auto" | "only";
    /**
     * URL of an HTTP proxy, `http://user:password@host:port`, or one for each scheme. It forwards plain requests; TLS and WebSockets use its tunnels.
     * `"environment"` reads the variables that curl reads, on each machine of a fleet: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, the last three
     * also in capitals. Default: no proxy, whatever the environment contains.
     */
    proxy?: string | SchemeProxies;
    /**
     * Maximum number of new connections per second, of all cores together, evenly spaced. This avoids a connection storm during a ramp. A request that needs a
     * connection starts when it may open one, so the wait is in no service time. In open load, the wait counts in the response time of an iteration's first
     * request, like every wait of an arrival. Default: no limit.
     */
    connectionsPerSecond?: Rate;
    /**
     * Send a W3C `traceparent` header with every request and WebSocket handshake. The slowest and the failed requests then show their trace id. A request's own
     * `traceparent` header takes precedence. Default: false.
     */
    traceparent?: boolean;
    /**
     * Ask gRPC servers by reflection for services that no {@link proto} declares. Each core asks once per service, before a user's first call. This is not part
     * of the call's time. Default: false.
     */
    grpcReflection?: boolean;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Scenarios
  // A scenario defines the actions of one virtual user, as an ordinary async function.

  /**
   * Declares one iteration of a virtual user. Reports and thresholds use the name, which must be unique within the test.
   *
   * An iteration fails if the function throws or one of its requests fails. The failed iteration is counted with its error, and the run continues. Await every
   * request: a request in progress when the function returns is finished first, and the run prints a warning.
   *
   * @example
   * const browse = scenario("Browse", async (user) => {
   *   await user.get("/products", { name: "List products" });
   *   await user.pause("uniform(1s, 3s)");
   *   await user.get("/products/1", { name: "Show product" });
   * });
   */
  export function scenario(name: string, iterate: (user: User) => Promise<unknown> | unknown, options?: ScenarioOptions): Scenario;

  /** Settings for all users of one scenario. */
  export interface ScenarioOptions {
    /** Base URL for this scenario's relative paths, which its path precedes. Default: the test's `target`. */
    target?: string;
    /** Headers sent with every request of this scenario. */
    headers?: Headers;
    /** Credentials sent with every request to the scenario's target. */
    auth?: Auth;
    /** Time limit of one request. Default: the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Start every iteration as a new visitor on new connections. Default: false, connections remain open. In closed load, the same user repeats and keeps
     * cookies and `state`. In open load, every arrival is a new visitor and starts without them.
     */
    fresh?: boolean;
    /**
     * Runs once per user, before its first iteration, for example to log in. Closed load only. A user whose `onStart` fails runs no iterations. Its
     * `user.state` is available in the iterations.
     */
    onStart?: (user: User) => Promise<unknown> | unknown;
    /** Runs once per user, after its last iteration. Closed load only. Its time limit is `gracefulStop`, as for iterations. */
    onEnd?: (user: User) => Promise<unknown> | unknown;
    /** Whether requests and groups of `onStart` and `onEnd` are measured like any others. Default: false, only their errors are reported. */
    measureStartAndEnd?: boolean;
  }

  /** A declared scenario. Give it load with `run`. A scenario may run several times, with different load. */
  export interface Scenario {
    /** Name in reports and thresholds. */
    readonly name: string;
    /**
     * This scenario under a load profile: a part of the test's `load`.
     *
     * @example
     * browse.run(arrivals(50).poisson().for("5m"))
     */
    run(profile: LoadProfile): Load;
  }

  /**
   * Declares a set-up that runs once, before all load. Its return value is available to all users as JSON: it is serialised and read back. Its requests are not
   * measured. If it throws or a request fails, the run ends before its load, with exit code 7. The time limit is ten minutes. A test has one set-up.
   *
   * @example
   * const session = setup(async (user) => {
   *   const login = await user.post("/login", { json: { name: "load" } });
   *   return { token: login.json("$.token") as string };
   * });
   * const browse = scenario("Browse", (user) => user.get("/orders", { auth: { bearer: session.value.token } }));
   */
  export function setup<T>(prepare: (user: User) => Promise<T> | T, options?: AroundOptions): SetUp<T>;

  /** The result of a set-up, for all users. */
  export interface SetUp<T> {
    /** The return value, frozen. Read it inside scenarios and in the tear-down. It throws if the set-up failed. */
    readonly value: T;
  }

  /**
   * Declares a tear-down that runs once, at the end of the run. It also runs after Ctrl-C, after a threshold that stopped the run, and after a failed set-up.
   * Its requests are not measured. The time limit is ten minutes. A test has one tear-down.
   *
   * @example
   * teardown((user) => user.delete("/test-data"));
   */
  export function teardown(cleanUp: (user: User) => Promise<unknown> | unknown, options?: AroundOptions): void;

  /** Settings for the user of a set-up or tear-down. */
  export interface AroundOptions {
    /** Base URL for its relative paths. Default: the test's `target`. */
    target?: string;
    /** Headers of its requests. */
    headers?: Headers;
    /** Credentials for its requests to its target. */
    auth?: Auth;
    /** Time limit of one request. Default: the test's `requestTimeout`. */
    timeout?: Duration;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Load
  // *Open* profiles (`arrivals`, `once`, `atOnce`) start iterations at given instants, regardless of the target. Response times count from the instant at which
  // an iteration was due, so a stall of the target is fully visible. *Closed* profiles (`users`, `iterations`) keep a number of users looping: each starts its
  // next iteration when the previous one has ended.

  /** A load: a scenario under a load profile, a sequence, or a list whose members run at the same time. */
  export type Load = LoadPart | readonly Load[];

  /** A node of the load tree: the result of `scenario.run(…)`, {@link sequence} or {@link parallel}. */
  export interface LoadPart {
    readonly [brand]: "load";
  }

  /** The amount of load: {@link arrivals}, {@link users}, {@link once}, {@link atOnce} or {@link iterations}. */
  export type LoadProfile = OpenProfile | ClosedProfile | IterationsProfile;

  /**
   * Runs its parts one after another. A part begins when the previous one has ended, including its last iterations.
   *
   * @example
   * load: sequence(setUp.run(once()), [buy.run(arrivals(4).for("1m")), browse.run(users(50).for("1m"))], tearDown.run(once()))
   */
  export function sequence(...parts: readonly Load[]): Load;

  /** Runs its parts at the same time, like a list. */
  export function parallel(...parts: readonly Load[]): Load;

  /**
   * Arrivals at a constant rate, evenly spaced: an open profile. A number is per second. `"90/m"` and `"3600/h"` are also valid.
   *
   * @example
   * arrivals(20).for("2m")                                            // 20 per second, evenly
   * arrivals("90/m").poisson().for("10m")                             // 1.5 per second on average, at random moments
   * arrivals.ramp(0, 100).for("1m").then(arrivals(100).for("5m"))     // up, then steady
   */
  export const arrivals: ArrivalsBuilder;

  /** Builders of open profiles. */
  export interface ArrivalsBuilder {
    /** A constant rate. */
    (rate: Rate): OpenStage;
    /** The rate changes linearly from one value to another. */
    ramp(from: Rate, to: Rate): OpenStage;
    /**
     * Several rates in sequence, each held equally long, to find the limit of a system.
     *
     * @example
     * arrivals.steps([50, 100, 200, 400]).each("1m")
     * arrivals.steps({ from: 100, to: 1000, by: 100 }).for("10m")
     */
    steps(levels: readonly Rate[] | StepRange): OpenSteps;
    /**
     * A base rate with one peak in the middle of its time. `hold` is the duration of the peak, default "10s". `rise` is the duration of the rise and of the
     * fall, default "0s".
     */
    spike(base: Rate, peak: Rate, shape?: { hold?: Duration; rise?: Duration }): OpenStage;
    /**
     * The requests of a record, at the instants at which they were sent: an access log of nginx or Apache, a HAR, or a file of GoReplay. The scenario sends the
     * recorded request of each arrival with {@link User.replay}. The record is read as a stream, so its size does not matter.
     *
     * @example
     * const visit = scenario("Visit", async (user) => { await user.replay(); });
     * export default test({ target: "http://127.0.0.1:8080", load: visit.run(arrivals.replay("access.log", { speed: 2 })) });
     */
    replay(file: string, options?: ReplayOptions): OpenProfile;
  }

  /** How a record is replayed. */
  export interface ReplayOptions {
    /**
     * `"combined"`, `"common"`, `"har"`, `"gor"`, or the log's format string as in the configuration of the server: nginx's `$variables` or Apache's
     * `%directives`. Default: by the name of the file, `"combined"` for others than `.har` and `.gor`.
     */
    format?: string;
    /** How many times as fast as recorded. Default 1. */
    speed?: number;
    /** The first instant to send: `"2026-11-28T17:00:00Z"`, or a time since the first request, such as `"10m"`. */
    from?: string;
    /** The instant at which to end. */
    to?: string;
  }

  /** An open profile that still needs its duration. */
  export interface OpenStage {
    /** Duration of the stage. */
    for(duration: Duration): OpenProfile;
    /** Random (Poisson) instead of even spacing, like independent visitors. The draws come from the run's seed. */
    poisson(): OpenStage;
  }

  /** Stepped rates that still need their duration. */
  export interface OpenSteps {
    /** Total duration; every step takes an equal share. */
    for(duration: Duration): OpenProfile;
    /** Duration of each step. */
    each(duration: Duration): OpenProfile;
    /** Random (Poisson) spacing instead of even. */
    poisson(): OpenSteps;
  }

  /** A complete open profile. */
  export interface OpenProfile {
    readonly [brand]: "open";
    /** Adds a further stage, which begins when this profile ends. */
    then(next: OpenProfile): OpenProfile;
    /**
     * Maximum number of users active at once. Further arrivals wait. Their wait counts in their response time and is reported, and no arrival is dropped.
     * Default: 50,000.
     */
    maxUsers(count: number): OpenProfile;
    /** How long iterations may continue after this profile has ended. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): OpenProfile;
    /** Delays the start, relative to the start of parallel parts. */
    startAfter(delay: Duration): OpenProfile;
  }

  /** One arrival, immediately: for set-up and tear-down. */
  export function once(): OpenProfile;

  /** A number of arrivals at the same instant. */
  export function atOnce(count: number): OpenProfile;

  /**
   * A constant number of users that repeat the scenario: a closed profile.
   *
   * @example
   * users(50).for("5m")
   * users.ramp(0, 500).for("2m").then(users(500).for("10m"))
   */
  export const users: UsersBuilder;

  /** Builders of closed profiles. */
  export interface UsersBuilder {
    /** A constant number of users. */
    (count: number): ClosedStage;
    /** The number of users changes linearly from one value to another. When it falls, surplus users end after their iteration. */
    ramp(from: number, to: number): ClosedStage;
    /**
     * Several numbers of users in sequence, each held equally long.
     *
     * @example
     * users.steps({ from: 100, to: 1000, by: 100 }).each("2m")
     */
    steps(levels: readonly number[] | StepRange): ClosedSteps;
  }

  /** A closed profile that still needs its duration. */
  export interface ClosedStage {
    /** Duration of the stage. */
    for(duration: Duration): ClosedProfile;
  }

  /** Stepped users that still need their duration. */
  export interface ClosedSteps {
    /** Total duration; every step takes an equal share. */
    for(duration: Duration): ClosedProfile;
    /** Duration of each step. */
    each(duration: Duration): ClosedProfile;
  }

  /** A complete closed profile. */
  export interface ClosedProfile {
    readonly [brand]: "closed";
    /** Adds a further stage, which begins when this profile ends. */
    then(next: ClosedProfile): ClosedProfile;
    /** How long iterations may continue after this profile has ended. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): ClosedProfile;
    /** Delays the start, relative to the start of parallel parts. */
    startAfter(delay: Duration): ClosedProfile;
  }

  /**
   * A fixed number of iterations, without pauses between them. By default one user runs them.
   *
   * Without a number, for thresholds: the ended iterations of one scenario or all. See {@link IterationMetric}.
   *
   * @example
   * iterations(1000).users(20)                  // 1000 in total, shared by 20 users
   * iterations(10).users(20).perUser()          // 10 per user, by 20 users
   * iterations(1000).users(20).for("10m")       // the same, but for ten minutes at most
   * iterations("Buy").failed.rate.below("1%")   // a threshold
   */
  export function iterations(count: number): IterationsProfile;
  export function iterations(of?: string | { scenario?: string }): IterationMetric;

  /** A profile limited by a count. */
  export interface IterationsProfile {
    readonly [brand]: "iterations";
    /** Number of users that share the iterations. Default: 1. */
    users(count: number): IterationsProfile;
    /** Every user runs the whole count. */
    perUser(): IterationsProfile;
    /** Maximum duration. Default: no limit. */
    for(duration: Duration): IterationsProfile;
    /** How long iterations may continue after the time limit. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): IterationsProfile;
    /** Delays the start, relative to the start of parallel parts. */
    startAfter(delay: Duration): IterationsProfile;
  }

  /** Equal steps from one level to another, inclusive. */
  export interface StepRange {
    /** First level. */
    from: number;
    /** Last level. */
    to: number;
    /** Height of one step. The last step may be smaller, to end at `to`. */
    by: number;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Values

  /** Units of a {@link Duration}: `ns`, `us`, `ms`, `s`, `m`, `h`, `d`. */
  export type DurationUnit = "ns" | "us" | "µs" | "ms" | "s" | "m" | "min" | "h" | "d";

  /**
   * A length of time as a string: `"500ms"`, `"30s"`, `"1m30s"`, `"2h"`. Plain numbers are not accepted, because their unit is unclear.
   *
   * @example
   * const seconds = 30;
   * await user.pause(`${seconds}s`);
   */
  export type Duration =
    | "0"
    | `${number}${DurationUnit}`
    | `${number}d${number}h`
    | `${number}h${number}m`
    | `${number}h${number}m${number}s`
    | `${number}m${number}s`
    | `${number}s${number}ms`;

  /**
   * A fixed delay or a distribution of delays: `"100ms"`, `"uniform(1s, 3s)"`, `"loguniform(100ms, 2s)"`, `"normal(1s, 200ms)"` (mean and standard deviation;
   * never below zero), `"lognormal(1s, 200ms)"` (mean and standard deviation of the delay itself), `"exponential(1s)"` (mean).
   */
  export type Delay =
    | Duration
    | `uniform(${string},${string})`
    | `loguniform(${string},${string})`
    | `normal(${string},${string})`
    | `lognormal(${string},${string})`
    | `exponential(${string})`;

  /** A rate. A number is per second; `"360/s"`, `"90/m"`, `"5000/h"` include their unit. */
  export type Rate = number | `${number}/${"s" | "m" | "min" | "h"}`;

  /** A share: 0.01 or `"1%"`. */
  export type Share = number | `${number}%`;

  /**
   * Converts a duration to milliseconds, for calculations.
   *
   * @example
   * milliseconds("1m30s")   // 90000
   */
  export function milliseconds(duration: Duration): number;

  /** Headers by name. */
  export type Headers = Readonly<Record<string, string>>;

  /** Credentials: HTTP basic authentication, or a bearer token. */
  export type Auth = { username: string; password: string } | { bearer: string };

  // ───────────────────────────────────────────────────────────────────────────
  // # Parameters
  // Values that a person may change without editing the file. A value comes from the default, the environment (`LOADSTONE_` and the name in capitals:
  // `usersPerSecond` → `LOADSTONE_USERS_PER_SECOND`), or the command line (`-p usersPerSecond=10`). Later sources take precedence.

  /**
   * Declares parameters. Each call returns the resolved value. Call it at the top level of the file, once per name.
   *
   * @example
   * const rate = param.number("rate", { default: 4, min: 0, help: "new travellers per second" });
   * const token = param.string("token", { secret: true });            // no default: required
   */
  export const param: ParameterBuilder;

  /** Builders of parameters, one per kind. A wrong or missing value stops the start with a message that names the parameter. */
  export interface ParameterBuilder {
    /** A number, within `min` and `max` if given. */
    number(name: string, options?: ParameterOptions<number> & { min?: number; max?: number }): number;
    /** Any string. */
    string(name: string, options?: ParameterOptions<string>): string;
    /** `true` or `false` (also `yes`, `no`, `1`, `0`, `on`, `off`). */
    boolean(name: string, options?: ParameterOptions<boolean>): boolean;
    /** A length of time, such as `90s`. */
    duration(name: string, options?: ParameterOptions<Duration>): Duration;
    /** A full URL of any supported protocol, such as `https://…`, `wss://…`, `redis://…`, `postgres://…`. A password in it is masked everywhere. */
    url(name: string, options?: ParameterOptions<string>): string;
    /** One of the given options. */
    choice<const T extends string>(name: string, options: readonly T[], more?: ParameterOptions<NoInfer<T>>): T;
    /** A fixed delay or a distribution, such as `loguniform(100ms, 2s)`. */
    delay(name: string, options?: ParameterOptions<Delay>): Delay;
  }

  /** Options of all parameters. */
  export interface ParameterOptions<T> {
    /** Default value. Without it, the parameter is required. */
    default?: T;
    /** One line of help for `loadstone inspect` and forms. */
    help?: string;
    /** Mask the value as `•••` in every output and file (docs/run-directory.md, Secrets). Default: false. */
    secret?: boolean;
  }

  /**
   * Masks a string that the script obtains at run time, such as the token of a login response. From this call on, no output and no file shows it
   * (docs/run-directory.md, Secrets). Returns the string. Call it before the string is used elsewhere. A stub's function may call it, too.
   *
   * @example
   * const login = await user.post("/login", { json: { name: "ann" } });
   * const token = secret(login.json("$.token"));
   */
  export function secret<T extends string>(value: T): T;

  // ───────────────────────────────────────────────────────────────────────────
  // # The user
  // A failing target never throws. A request that was refused, timed out, got a status of 400 or more, or failed its `expect` is recorded as failed. It still
  // returns a response, whose `ok` is false. A mistake of the script throws. So does extracting a value that the response does not contain: the iteration then
  // ends as failed, with a message that names the missing value.

  /** One virtual user. All its actions use this object. */
  export interface User {
    /** Number of this user within its load part, from 0, unique over all cores. A fixed number of users has no gaps. */
    readonly number: number;
    /**
     * Number of this iteration within its load part: 0, 1, 2, …, unique and without gaps over all cores. In open load it is the arrival's number. If the load
     * stops before an arrival starts, its number remains unused.
     */
    readonly iteration: number;
    /** Name of the scenario. */
    readonly scenario: string;
    /** This user's cookies, stored from responses and sent automatically. */
    readonly cookies: Cookies;
    /**
     * Random draws that repeat with the run's seed, regardless of other users and of the number of cores. In open load each arrival has its own draws; in
     * closed load, each iteration of each user.
     */
    readonly random: Random;
    /**
     * Data that the user retains for its next iterations, such as a token. In open load every arrival starts with an empty object; see
     * {@link ScenarioOptions.fresh}.
     */
    readonly state: Record<string, any>;

    /** Sends a GET request. */
    get(url: string, options?: RequestOptions): Promise<Response>;
    /** Sends a HEAD request. */
    head(url: string, options?: RequestOptions): Promise<Response>;
    /** Sends an OPTIONS request. */
    options(url: string, options?: RequestOptions): Promise<Response>;
    /**
     * Sends a POST request.
     *
     * @example
     * const created = await user.post("/tickets", { name: "Create ticket", json: { product: "OneHour" }, expect: { status: 201 } });
     * const id = created.json("$.ticketId");
     */
    post(url: string, options?: BodyRequestOptions): Promise<Response>;
    /** Sends a PUT request. */
    put(url: string, options?: BodyRequestOptions): Promise<Response>;
    /** Sends a PATCH request. */
    patch(url: string, options?: BodyRequestOptions): Promise<Response>;
    /** Sends a DELETE request. */
    delete(url: string, options?: BodyRequestOptions): Promise<Response>;
    /** Sends a request with any method, which is sent as written: methods are case-sensitive. */
    request(method: string, url: string, options?: BodyRequestOptions): Promise<Response>;
    /**
     * Sends the recorded request of this arrival to the test's target: method, path, query, recorded headers and body. The target's path precedes the recorded
     * one. Credentials and headers of the recorded connection are not sent. `headers` adds some, or replaces recorded ones. Needs
     * {@link ArrivalsBuilder.replay}. Requests that may change data are only replayed with `--allow-writes`.
     *
     * @example
     * await user.replay({ headers: { authorization: `Bearer ${token}` }, expect: { status: "2xx" } });
     */
    replay(options?: BodyRequestOptions): Promise<Response>;
    /**
     * Opens a WebSocket. The handshake is measured under its name like a request, and never throws. A socket that could not be opened has `open` false.
     *
     * @example
     * const socket = await user.ws("/validate", { name: "Connect" });
     * await socket.send("init");
     * const answer = await socket.request("tap 7", { name: "Tap", match: /^tap-response/m, within: "500ms" });
     */
    ws(url: string, options?: SocketOptions): Promise<Socket>;

    /**
     * Opens a stream of server-sent events. The opening is measured under its name like a request, and never throws. The time from there to the first event is
     * measured as `NAME first event`.
     *
     * @example
     * const prices = await user.events("/prices", { name: "Prices" });
     * const first = await prices.receive({ name: "Price of 7", match: (event) => event.json("$.product") === 7, within: "5s" });
     */
    events(url: string, options?: EventsOptions): Promise<Events>;

    /**
     * Calls a gRPC method with one message and waits for one. The method is named `package.Service/Method`, as declared in a file given to {@link proto}.
     * Measured under its name. It never throws for a server's failure: a status other than OK makes the call failed.
     *
     * @example
     * const reply = await user.grpc("shop.v1.Shop/GetProduct", { productId: 7 }, { timeout: "500ms" });
     * user.check("has a name", reply.message?.name !== "");
     */
    grpc<M extends keyof GrpcMethods>(
      method: M,
      message?: GrpcMethods[M]["request"],
      options?: GrpcOptions,
    ): Promise<GrpcResponse<GrpcMethods[M]["response"]>>;
    grpc<M extends string>(method: M extends keyof GrpcMethods ? never : M, message?: object, options?: GrpcOptions): Promise<GrpcResponse>;
    /**
     * Begins a streaming gRPC call: from the server, from the client, or in both directions. A message given here is sent first. If only the server streams, it
     * is the only one.
     *
     * @example
     * const prices = await user.grpcStream("shop.v1.Shop/Watch", { product: 7 });
     * for await (const price of prices.messages()) user.check("costs something", price.json("$.cents") > 0);
     */
    grpcStream<M extends keyof GrpcMethods>(
      method: M,
      message?: GrpcMethods[M]["request"],
      options?: GrpcStreamOptions,
    ): Promise<GrpcStream<GrpcMethods[M]["request"]>>;
    grpcStream<M extends string>(
      method: M extends keyof GrpcMethods ? never : M,
      message?: object,
      options?: GrpcStreamOptions,
    ): Promise<GrpcStream>;

    /**
     * Connects to a host and a port with plain TCP, or with TLS. Connecting is measured under its name like a request, and never throws. A connection that
     * could not be opened has `open` false.
     *
     * @example
     * const mail = await user.tcp("127.0.0.1:25", { name: "Connect" });
     * await mail.read({ until: "\r\n", name: "Greeting" });
     * const answer = await mail.request("EHLO client.test\r\n", { until: "\r\n", name: "EHLO" });
     */
    tcp(address: string, options?: TcpOptions): Promise<TcpConnection>;

    /**
     * Opens a UDP socket to `host:port`. This sends and measures nothing. A socket that could not be opened has `open` false.
     *
     * @example
     * const meter = await user.udp("127.0.0.1:7000", { name: "Meter" });
     * const answer = await meter.request("read 7", { name: "Read", match: /^7 /, within: "500ms" });
     * user.check("it has a value", answer.ok);
     */
    udp(address: string, options?: UdpOptions): Promise<UdpSocket>;
    /**
     * Names a Redis server: `redis://user:password@host:port/database`, or `rediss://` for TLS. The user's first command connects. All further commands share
     * the connection.
     *
     * @example
     * const redis = user.redis("redis://127.0.0.1/0");
     * await redis.command("SET", "cart:7", "3 tickets", "EX", 60);
     * const cart = await redis.command("GET", "cart:7", { name: "Read cart" });
     * user.check("it is there", cart.value === "3 tickets");
     */
    redis(url: string, options?: RedisOptions): Redis;

    /**
     * Names a database: `postgres://user:password@host:port/database`, or `mysql://…` for MySQL and MariaDB. Append `?sslmode=require` for TLS. The user's
     * first statement connects. All further statements share the connection.
     *
     * @example
     * const sql = user.sql("postgres://app@127.0.0.1/shop");
     * const orders = await sql.query("SELECT id, total FROM orders WHERE customer = $1", [7], { name: "List orders" });
     * user.check("there are some", orders.rows.length > 0);
     *
     * @example
     * const sql = user.sql("mysql://app@127.0.0.1/shop");
     * const orders = await sql.query("SELECT id, total FROM orders WHERE customer = ?", [7], { name: "List orders" });
     */
    sql(url: string, options?: SqlOptions): Sql;

    /**
     * Names a Kafka cluster by one of its brokers: `kafka://host:port`, or `kafkas://user:password@host:port` with TLS and SASL/PLAIN. Append
     * `?mechanism=SCRAM-SHA-256` or `?mechanism=SCRAM-SHA-512` for SCRAM. The user's first records connect to the leaders of their partitions. All further
     * records share the connections.
     *
     * @example
     * const kafka = user.kafka("kafka://127.0.0.1:9092");
     * const sent = await kafka.produce("orders", { key: "7", json: { product: "ticket" } }, { name: "Order" });
     * user.check("it is written", sent.ok);
     */
    kafka(url: string, options?: KafkaOptions): Kafka;

    /**
     * Measures several steps as one named transaction. Its time excludes declared pauses. It fails if one of its requests fails or the function throws. Groups
     * may nest. If groups of one user run in parallel, send their requests through the user that the function receives, so that each belongs to its own group.
     *
     * @example
     * const order = await user.group("Check out", async () => {
     *   await user.post("/cart", { json: { product: 7 } });
     *   return await user.post("/orders");
     * });
     */
    group<T>(name: string, steps: (user: User) => T | Promise<T>, options?: RecordOptions): Promise<T>;
    /**
     * Waits, like a person between steps. The wait belongs to no request. Simultaneous pauses count once.
     *
     * @example
     * await user.pause("1s");
     * await user.pause("exponential(2s)");
     */
    pause(delay: Delay): Promise<void>;
    /**
     * Repeats at a steady pace: each turn begins an interval after the previous one *began*. A turn that takes too long delays the next one, and the following
     * ones catch up. Ends after `times` turns, after `for`, or when the load ends. Yields the turn's number: 0, 1, 2, …
     *
     * @example
     * for await (const turn of user.pace({ perMinute: 25, for: "10m" })) await user.get("/tap");
     */
    pace(options: PaceOptions): AsyncIterable<number>;
    /**
     * Records whether a condition holds, under a name, and returns it. A failed check fails neither a request nor the iteration. Judge it with the threshold
     * {@link checks}.
     *
     * @example
     * user.check("has products", list.json("$.products").length > 0);
     */
    check(name: string, holds: boolean, options?: RecordOptions): boolean;
    /** Ends the iteration as failed, with a message. This is a failure of the target, not one of the {@link scriptErrors}. */
    fail(message: string): never;
    /** Writes a line to the console, prefixed with the scenario's and the user's name. It does not disturb the live progress. */
    log(...values: unknown[]): void;
  }

  /** Pace of a loop, and its end. */
  export type PaceOptions = ({ perSecond: number } | { perMinute: number } | { every: Duration }) & {
    /** Maximum number of turns. Default: no limit. */
    times?: number;
    /** Maximum duration. Default: until the load ends. */
    for?: Duration;
  };

  /** One user's cookies, of all sites that it has visited. */
  export interface Cookies {
    /** Value of a cookie that would be sent to the target (or to `url`); `undefined` if there is none. */
    get(name: string, url?: string): string | undefined;
    /** Sets a cookie for the host of the target (or of `url`) and all its paths. Throws if the name or value cannot be sent unchanged. */
    set(name: string, value: string, url?: string): void;
    /** Deletes all cookies. */
    clear(): void;
  }

  /**
   * Proxies by scheme.
   *
   * @example
   * export default test({ load, options: { proxy: { https: "http://proxy.example:3128", noProxy: "localhost,.example.org,10.0.0.0/8" } } });
   */
  export interface SchemeProxies {
    /** For `http` and `ws`. Default: `all`. */
    http?: string;
    /** For `https` and `wss`. Default: `all`. */
    https?: string;
    /** For everything else, too: Redis, SQL, Kafka and raw TCP. Default: no proxy. */
    all?: string;
    /**
     * Hosts to reach directly, read as curl reads `NO_PROXY`: names with all names below them, addresses, blocks such as `10.0.0.0/8`, or `"*"` for all hosts.
     * Names are not resolved. Default: none.
     */
    noProxy?: string | readonly string[];
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Requests and responses

  /** Content and expectations of a request. */
  export interface RequestOptions {
    /** Name in reports and thresholds. Default: the method and path, with parts that look like identifiers replaced: `GET /tickets/:id`. */
    name?: string;
    /** Headers; they take precedence over the scenario's and the test's. A list sends several lines. `undefined` and `null` are errors. */
    headers?: RequestHeaders;
    /** Query parameters, encoded and appended to the URL. A list repeats its name. `undefined` and `null` are omitted. */
    query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Credentials for this request; `null` sends none. */
    auth?: Auth | null;
    /** Time limit, from the start to the last byte of the response. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Maximum number of redirects; 0 returns the redirect itself. Default: the test's `redirects`. */
    redirects?: number;
    /** Whether cookies are sent and stored. Default: true. */
    cookies?: boolean;
    /** Read and count the body, of any size, but do not store it, unless the status is 400 or above: for large downloads. Default: false. */
    discardBody?: boolean;
    /** Expectations of the response. If one fails, the request fails. Default: a status below 400. */
    expect?: Expectation;
    /** Tags: the request counts under its name, and in the part with these tags. Default: none. */
    tags?: Tags;
    /** When to send the request again if it fails; `false` never does. Default: the test's `retry`. */
    retry?: RetryPolicy | false;
    /**
     * Local address to connect from, such as `"10.0.0.7"`. Requests from different addresses share no connection. It must be of this machine, and of the
     * target's family (IPv4 or IPv6): otherwise the call is an error. Default: the test's `sources`, in turn.
     */
    source?: string;
  }

  /**
   * When a failed request is sent again. Each attempt is a request with its own times. The first counts under the request's name, the others under
   * `NAME retry`. No time includes another attempt, or the wait before it. An attempt that is repeated counts as a failed request, but does not fail its
   * iteration.
   *
   * @example
   * const order = await user.post("/orders", { name: "Order", json, retry: { times: 2, on: [503, "connection"], wait: "200ms" } });
   * user.check("at the first attempt", order.attempts === 1);
   */
  export interface RetryPolicy {
    /** Maximum number of retries, from 1 to 10. */
    times: number;
    /**
     * Failures to retry: statuses that the request does not expect, `"connection"` (none was possible, or it was lost) and `"timeout"`. The server may have
     * processed a request whose connection was lost. Default: `["connection", 429, 502, 503, 504]`.
     */
    on?: RetryCause | readonly RetryCause[];
    /** Wait before the first retry. It doubles before each further one. Default: "100ms". */
    wait?: Duration;
  }

  /** A failure to retry. */
  export type RetryCause = StatusPattern | "connection" | "timeout";

  /** Headers of a request. */
  export type RequestHeaders = Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>;

  /** A value of a header. */
  export type HeaderValue = string | number | bigint | boolean;

  /** A value in a query string or a form. */
  export type QueryValue = string | number | bigint | boolean | null | undefined;

  /** A part of a `multipart` body that the script describes. */
  export interface MultipartPart {
    /** The content. A string is sent as UTF-8. */
    content: string | Uint8Array | FileContent;
    /** The file name. Default: the file's name; otherwise none. */
    filename?: string;
    /** The content type. Default: the file's type; for bytes `application/octet-stream`; for a string none. */
    contentType?: string;
  }

  /** A value of a `multipart` body: a field, a file, bytes, or a described part. */
  export type MultipartValue = QueryValue | FileContent | Uint8Array | MultipartPart;

  /** A request with a body: at most one of `json`, `form`, `multipart` and `body`. */
  export interface BodyRequestOptions extends RequestOptions {
    /** Sent as JSON, with `content-type: application/json`. */
    json?: unknown;
    /** Sent as an HTML form, with `content-type: application/x-www-form-urlencoded`. */
    form?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /**
     * Sent as `multipart/form-data`: fields, {@link file}s, bytes and described parts. A list sends several parts of one name. `undefined` and `null` are
     * omitted. Loadstone sends the `Content-Type` header, which has the boundary.
     */
    multipart?: Readonly<Record<string, MultipartValue | readonly MultipartValue[]>>;
    /** Sent unchanged: a string, bytes, a {@link file} or a {@link template}. */
    body?: string | Uint8Array | FileContent;
    /** Compresses the body, and sends the `Content-Encoding` header. The generator compresses it again for each request. Default: not compressed. */
    compress?: "gzip" | "deflate" | "br" | "zstd";
    /**
     * Header fields after the body, announced by a `Trailer` header. Over HTTP/1.1 the body is then sent in chunks.
     *
     * @example
     * await user.post("/upload", { body, trailers: { "Content-Digest": digest } });
     */
    trailers?: RequestHeaders;
  }

  /**
   * Expectations of a response. All must hold. The first failed one makes the request failed and is reported. It never throws.
   *
   * @example
   * await user.get("/orders/7", { expect: { status: [200, 404], header: { "content-type": /json/ }, json: { "$.state": "paid" }, within: "300ms" } });
   */
  export interface Expectation {
    /** The status, a list of them, or a class such as `"2xx"`. Default: any below 400. */
    status?: StatusPattern | readonly StatusPattern[];
    /** Headers by name: equal to a string, matching a regular expression, or (`true`) present. */
    header?: Readonly<Record<string, string | RegExp | true>>;
    /** The body contains this text, or matches this regular expression. */
    text?: string | RegExp;
    /** Values by JSON path: equal to a value, matching a regular expression, or accepted by a function. */
    json?: Readonly<Record<string, unknown>>;
    /** The response is complete within this time from the request's start. */
    within?: Duration;
  }

  /** A status, or a class of them. */
  export type StatusPattern = number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx";

  /**
   * A response, or the information about a failed request. Extract values without `await`: the body is already there.
   *
   * `json`, `regex`, `css` and `xpath` throw if the value is missing, which ends the iteration as failed. With a fallback as their last argument they return it
   * instead.
   *
   * These are errors: HTML and XML nested more than 1,000 deep, XML with more than 128 namespaces in scope, JSON nested more than 127 deep, and an
   * extraction that takes longer than two seconds.
   */
  export interface Response extends Extractable {
    /** Whether the request passed: a response with a status below 400 or as expected, and every `expect` passed. */
    readonly ok: boolean;
    /** HTTP status; 0 without a response. If a request fails after its response began, status, headers and the body so far remain readable. */
    readonly status: number;
    /** Why the request failed; `undefined` if it passed. */
    readonly error: string | undefined;
    /** How often the request was sent, with its retries ({@link RetryPolicy}): 1 without any. */
    readonly attempts: number;
    /** The final URL, after redirects. */
    readonly url: string;
    /** Headers, names in lower case. Repeated ones are joined with `, `. */
    readonly headers: Headers;
    /** Trailers, names in lower case: of HTTP/2 and of chunked bodies. */
    readonly trailers: Headers;
    /** First value of a header, by name in any case; `undefined` if missing. */
    header(name: string): string | undefined;
    /** The body as bytes, decompressed. */
    readonly bytes: Uint8Array;
    /** The phases of the request's time. */
    readonly times: Times;
    /**
     * Text of the first element that matches a CSS selector, or its `attribute`. Throws if there is none.
     *
     * @example
     * const token = page.css("input[name=csrf]", { attribute: "value" });
     */
    css(selector: string, options?: { attribute?: string }): string;
    /** The same, or `fallback` if no element matches. */
    css<F>(selector: string, options: { attribute?: string }, fallback: F): string | F;
    /** Strings (or attributes) of all elements that match a CSS selector. */
    cssAll(selector: string, options?: { attribute?: string }): string[];
    /** Text of the first node (or the value) of an XPath 1.0 expression in an XML or HTML body. Throws if there is none. */
    xpath(expression: string): string;
    /** The same, or `fallback` if the expression finds nothing. */
    xpath<F>(expression: string, fallback: F): string | F;
    /** Strings of all nodes of an XPath 1.0 expression. */
    xpathAll(expression: string): string[];
  }

  /** An object with a body for extraction: a {@link Response}, a {@link Message} or a {@link StubRequest}. */
  export interface Extractable {
    /** The body as a string, in the charset of its `content-type`. The default is UTF-8. Malformed bytes become U+FFFD. */
    readonly text: string;
    /**
     * The whole body as JSON, or the first value at a JSON path (RFC 9535, with filters). Throws if the body is not JSON or the path finds nothing.
     *
     * @example
     * const all  = response.json();
     * const id   = response.json("$.items[0].id");
     * const open = response.json("$.orders[?@.state == 'open'].id");
     * const next = response.json("$.next", null);                        // null when there is none
     *
     * Integers beyond 2^53 − 1, which a number would round, are `bigint`. `json` bodies, templates and expectations accept them.
     */
    json(path?: string): any;
    /** The same, or `fallback` if the path finds nothing or the body is not JSON. */
    json<F>(path: string, fallback: F): any | F;
    /** All values at a JSON path; an empty list if there are none. */
    jsonAll(path: string): any[];
    /**
     * The first match of a regular expression in the body: `[0]` is the whole match, `[1]` the first group. Throws if there is none.
     *
     * @example
     * const access = answer.regex(/"access" *: *(true|false)/)[1];
     */
    regex(pattern: RegExp): Match;
    /** The same, or `fallback` if nothing matches. */
    regex<F>(pattern: RegExp, fallback: F): Match | F;
  }

  /** A match of a regular expression. An unmatched group is an empty string. */
  export type Match = readonly string[] & { readonly groups: Readonly<Record<string, string>> };

  /** The phases of a request's time, in milliseconds. A phase that did not happen is 0 (an open connection needs no connect). */
  export interface Times {
    /** Waiting for a free connection of the user, or for a free stream of its HTTP/2 connection. */
    readonly queue: number;
    /** DNS lookup. */
    readonly dns: number;
    /** TCP connect. */
    readonly connect: number;
    /** TLS handshake. */
    readonly tls: number;
    /** From the last byte sent to the first byte of the response. */
    readonly wait: number;
    /** From the first to the last byte of the response. */
    readonly body: number;
    /** From the request's start to the last byte of the response. */
    readonly total: number;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # WebSocket
  // A socket belongs to the user that opened it. While open, it answers the server's pings and times its messages, also while the script does other work. At
  // the end of the iteration, its sockets close with the closing handshake, for at most five seconds. An interrupted load (by the end of `gracefulStop`, or
  // Ctrl-C) sends the close frame with code 1001 and does not wait.
  //
  // A lost socket is counted once, by kind. It counts in the request that waited for a response, otherwise in the list of errors under the name of its
  // handshake. In both cases the iteration fails. The server's close frame with code 1000, or without a code, is no loss unless a request was waiting.

  /** Options of a WebSocket. */
  export interface SocketOptions extends RecordOptions {
    /** Name of the handshake in reports and thresholds. Default: `WS` and the path, with parts that look like identifiers replaced. */
    name?: string;
    /** Headers of the handshake; they take precedence over the scenario's and the test's. */
    headers?: RequestHeaders;
    /** Credentials for the handshake; `null` sends none. */
    auth?: Auth | null;
    /** Sub-protocols offered to the server, preferred first. */
    protocols?: readonly string[];
    /** Time limit of the handshake. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Local address to connect from, as in {@link RequestOptions.source}. */
    source?: string;
    /** Offer compression of messages (permessage-deflate, without context between messages). Default: false. */
    compression?: boolean;
    /**
     * How to handle messages that nothing waits for. `"keep"` stores them for `receive` or `messages`, up to 1,000 or 16 MiB; beyond that the socket ends with
     * an error. `"drop"` discards them. Default: "keep".
     */
    unread?: "keep" | "drop";
    /**
     * Leave the socket open at the end of the iteration, for the user's next one. Store it in `user.state`. In open load every arrival is another visitor, so
     * it is closed anyway. The user's last socket is closed with code 1001. Default: false.
     */
    keep?: boolean;
  }

  /**
   * A WebSocket of one user.
   *
   * @example
   * const connect = (user: User) => user.ws("/live", { name: "Connect" });
   * let socket = await connect(user);
   * for await (const _ of user.pace({ perMinute: 25 })) {
   *   if (!socket.open) socket = await connect(user);                 // lost: connect again
   *   await socket.request("tap", { name: "Tap", within: "500ms" });
   * }
   */
  export interface Socket {
    /** Whether messages can be sent: the socket was opened, and neither side has closed it. */
    readonly open: boolean;
    /** Why it could not be opened or was lost; otherwise `undefined`. */
    readonly error: string | undefined;
    /** The sub-protocol that the server selected, or "". */
    readonly protocol: string;
    /** Status of the response to the handshake: 101 if it was opened, such as 429 if it was refused, 0 without a response. */
    readonly status: number;
    /** Headers of that response, such as `retry-after`. Names are in lower case. */
    readonly headers: Headers;
    /** Body of a refusal. */
    readonly text: string;
    /** Sends a message. Resolves once the kernel has it. Measured as a request if it has a name. */
    send(message: string | Uint8Array, options?: { name?: string; tags?: Tags }): Promise<void>;
    /**
     * Sends a message and waits for the next matching one. Measured as a request, from the first byte sent to the last byte of the response. Messages that do
     * not match wait for `receive` and `messages`.
     */
    request(message: string | Uint8Array, options?: MessageOptions): Promise<Message>;
    /** Waits for a message from the server, or returns an unread one. With a name, it is measured as a request. Without one, it fails nothing. */
    receive(options?: MessageOptions): Promise<Message>;
    /**
     * All further messages in order, until the socket is closed or the load ends.
     *
     * @example
     * for await (const price of socket.messages()) user.check("has a price", price.json("$.price") > 0);
     */
    messages(): AsyncIterable<Message>;
    /**
     * Sends a ping and waits for its pong, to detect a dead connection. Without a pong in time, the connection counts as lost. Returns whether the pong
     * arrived. Measured as a request if it has a name.
     *
     * @example
     * if (!(await socket.ping({ within: "5s" }))) socket = await user.ws("/live", { name: "Connect again" });
     */
    ping(options?: { name?: string; within?: Duration; tags?: Tags }): Promise<boolean>;
    /** Closes with a code (1000, the default, or 3000 to 4999) and waits for the server's close, for at most five seconds. */
    close(code?: number, reason?: string): Promise<void>;
    /** Resolves when either side closes the socket. Code 1005 means a close frame without a code, 1006 no close frame. */
    readonly closed: Promise<{ code: number; reason: string }>;
  }

  /** The message to wait for, and the time limit. */
  export interface MessageOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: that of the handshake and `request`. */
    name?: string;
    /** The message must contain this string, match this expression, or be accepted by this function. Default: any message. */
    match?: string | RegExp | ((message: Message) => boolean);
    /** Time limit. Exceeding it makes a timed-out request. Default: the scenario's `timeout`, then the test's `requestTimeout`. */
    within?: Duration;
  }

  /** A message, or the information that none arrived in time. Extract values as from a {@link Response}. */
  export interface Message extends Extractable {
    /** Whether there is a message. */
    readonly ok: boolean;
    /** Why there is none; `undefined` if there is one. */
    readonly error: string | undefined;
    /** The message as bytes. */
    readonly bytes: Uint8Array;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Server-sent events
  // A stream belongs to the user that opened it. It reads its events while it is open, and is closed at the end of the iteration. If the server ends it or the
  // connection breaks, it reconnects like a browser: after the server's `retry` time or three seconds, with the last id as `Last-Event-ID`. Every connection,
  // including its redirects, is a request under the stream's name.
  //
  // A break is an error; an end by the server is not. A response that is no event stream ends it for good. So does status 204, without an error.

  /** Options of an event stream. */
  export interface EventsOptions extends RecordOptions {
    /** Name of its connections in reports and thresholds. Default: `SSE` and the path, with parts that look like identifiers replaced. */
    name?: string;
    /** Headers; they take precedence over the scenario's and the test's. */
    headers?: RequestHeaders;
    /** Query parameters, as of a request. */
    query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Credentials; `null` sends none. */
    auth?: Auth | null;
    /** Time limit until the response's headers have arrived. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Maximum number of redirects per connection; 0 follows none. Default: the test's `redirects`. */
    redirects?: number;
    /** Default: "GET", and "POST" with a body. */
    method?: string;
    /** A body, as of a request: at most one of `json`, `form` and `body`. */
    json?: unknown;
    /** Sent as an HTML form, with `content-type: application/x-www-form-urlencoded`. */
    form?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Sent unchanged: a string, bytes, a {@link file} or a {@link template}. */
    body?: string | Uint8Array | FileContent;
    /** How to handle events that nothing waits for, as in {@link SocketOptions.unread}. Default: "keep". */
    unread?: "keep" | "drop";
    /** Whether it reconnects after an end. Default: true. */
    reconnect?: boolean;
    /** Local address to connect from, as in {@link RequestOptions.source}. */
    source?: string;
  }

  /** A stream of server-sent events. */
  export interface Events {
    /** Whether events can arrive: it was opened, and has not ended for good. */
    readonly open: boolean;
    /** Why it could not be opened or was lost; otherwise `undefined`. */
    readonly error: string | undefined;
    /** Status of the response that opened the stream, or refused it. 0: there was none. */
    readonly status: number;
    /** Headers of that response. Names are in lower case. */
    readonly headers: Headers;
    /** Body of a refusal. */
    readonly text: string;
    /** Number of received events. */
    readonly received: number;
    /** Waits for an event, or returns an unread one. With a name, it is measured as a request. Without one, it fails nothing. */
    receive(options?: EventOptions): Promise<EventMessage>;
    /**
     * All further events in order, until the stream or the load ends.
     *
     * @example
     * for await (const event of prices.messages()) if (event.event === "price") user.check("has a price", event.json("$.price") > 0);
     */
    messages(): AsyncIterable<EventMessage>;
    /** Closes the connection. */
    close(): Promise<void>;
  }

  /** The event to wait for, and the time limit. */
  export interface EventOptions extends RecordOptions {
    /** Name in reports and thresholds. */
    name?: string;
    /** The data must contain this string, match this expression, or the function must accept the event. Default: any event. */
    match?: string | RegExp | ((event: EventMessage) => boolean);
    /** Time limit. Exceeding it makes a timed-out request. Default: the scenario's `timeout`, then the test's `requestTimeout`. */
    within?: Duration;
  }

  /** An event, or the information that none arrived in time. Its data is the body for extraction. */
  export interface EventMessage extends Message {
    /** Its kind; `"message"` if the server named none; `undefined` without an event. */
    readonly event: string | undefined;
    /** The last id from the server, or ""; `undefined` without an event. */
    readonly id: string | undefined;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # gRPC
  // Calls go to the target over HTTP/2, without TLS for `http://` and with TLS for `https://`. All calls of a user to one server share a connection, also
  // concurrent ones, unless `connectionsPerUser` allows more. The test's and the scenario's `headers` and `auth` are sent as metadata.
  //
  // Messages are plain objects, in the JSON mapping of Protocol Buffers:
  //
  // - fields in camel case; a request may also use the names of the file;
  // - 64-bit integers as strings; a request also accepts numbers and `bigint`;
  // - numbers that are not finite as "NaN", "Infinity" and "-Infinity"; a request also accepts `NaN` and `Infinity`;
  // - bytes as base64; a request also accepts a `Uint8Array`;
  // - enums by name, timestamps as `"2026-01-31T10:00:00Z"`.
  //
  // In a response, unset fields have their default. The service `grpc.health.v1.Health` needs no file.

  /**
   * Reads the services of a `.proto` file, or of all such files in a folder and its subfolders. `protoc` is not needed. Call it at the top level of the test.
   * The path is relative to the calling file. A missing or invalid file stops the start.
   *
   * @example
   * proto("shop.proto");
   * proto("api/shop/v1/shop.proto", { imports: ["api"] });
   */
  export function proto(path: string, options?: ProtoOptions): ProtoServices;

  /** Location of imported files. */
  export interface ProtoOptions {
    /** Root folders of imports. Default: the folder itself, or that of the file. */
    imports?: readonly string[];
  }

  /** The declared services. */
  export interface ProtoServices {
    /** Names of all methods: `package.Service/Method`. */
    readonly methods: readonly string[];
  }

  /** Types of requests and responses by method. `loadstone types shop.proto` writes a file that adds yours. */
  export interface GrpcMethods {
  }

  /** One of the types of a method; `any` if the file was written by an older version. */
  export type Typed<M extends keyof GrpcMethods, Part extends string> = GrpcMethods[M] extends { [part in Part]: infer Type } ? Type : any;

  /** The name of a status. */
  export type GrpcStatus =
    | "OK" | "CANCELLED" | "UNKNOWN" | "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS" | "PERMISSION_DENIED"
    | "RESOURCE_EXHAUSTED" | "FAILED_PRECONDITION" | "ABORTED" | "OUT_OF_RANGE" | "UNIMPLEMENTED" | "INTERNAL" | "UNAVAILABLE" | "DATA_LOSS"
    | "UNAUTHENTICATED";

  /** Content and expectations of a call. */
  export interface GrpcOptions {
    /** Name in reports and thresholds. Default: `Service/Method`, with the package if two services share a name. */
    name?: string;
    /** Metadata: a string, a list of strings, or bytes for names that end in `-bin`. It takes precedence over the scenario's and the test's headers. */
    metadata?: Readonly<Record<string, string | number | boolean | readonly string[] | Uint8Array | null | undefined>>;
    /** Credentials for this call; `null` sends none. */
    auth?: Auth | null;
    /**
     * Time limit of the whole call, also sent to the server (`grpc-timeout`). Default: the scenario's, then the test's `requestTimeout`. A stream has none,
     * only its opening.
     */
    timeout?: Duration;
    /** Expectations of the response. If one fails, the call fails. Default: the status OK. */
    expect?: GrpcExpectation;
    /** Compression of sent messages. Responses may be compressed in both cases. Default: "none". */
    compression?: "none" | "gzip";
    /** Another server instead of the target: `"http://127.0.0.1:50051"`. A call to a target with a path is an error. */
    target?: string;
    /** Local address to connect from, as in {@link RequestOptions.source}. */
    source?: string;
    /** Tags: the call counts under its name, and in the part with these tags. Default: none. */
    tags?: Tags;
  }

  /** Expectations of a gRPC response. All must hold. For a stream, only `status` is judged. */
  export interface GrpcExpectation {
    /** The status, or a list of them. Default: "OK". */
    status?: GrpcStatus | readonly GrpcStatus[];
    /** Metadata and trailers by name: equal to a string, matching a regular expression, or (`true`) present. */
    header?: Readonly<Record<string, string | RegExp | true>>;
    /** The message as JSON contains this string, or matches this regular expression. */
    text?: string | RegExp;
    /** Values of the message by JSON path: equal to a value, matching a regular expression, or accepted by a function. */
    json?: Readonly<Record<string, unknown>>;
    /** The call ends within this time from its start. */
    within?: Duration;
  }

  /** The result of a call. Its body, for `json` and `regex`, is the message as JSON. */
  export interface GrpcResponse<Message = any> extends Extractable {
    /** Whether the call passed: status OK or as expected, and every `expect` passed. */
    readonly ok: boolean;
    /** The status; `undefined` if the server gave none (no connection, or no response in time). */
    readonly status: GrpcStatus | undefined;
    /** The message of the status, or "". */
    readonly details: string;
    /** Why the call failed; `undefined` if it passed. */
    readonly error: string | undefined;
    /** The message; `undefined` if none arrived. Decoded on first use. */
    readonly message: Message | undefined;
    /** The metadata before the message, names in lower case; bytes (`-bin`) as base64. */
    readonly metadata: Headers;
    /** The metadata after the message. */
    readonly trailers: Headers;
    /** The phases of the call's time. */
    readonly times: Times;
  }

  /** Options of a streaming call. */
  export interface GrpcStreamOptions extends GrpcOptions {
    /** How to handle messages that nothing waits for, as in {@link SocketOptions.unread}. Default: "keep". */
    unread?: "keep" | "drop";
  }

  /**
   * A streaming call. It is measured as one request from its start to its status. If the server streams, the time to its first message is measured as `NAME
   * first message`. A call that the script cancels, or that is open at the end of the iteration, is no failure.
   */
  export interface GrpcStream<Request = object> {
    /** Whether the call is in progress. */
    readonly open: boolean;
    /** Why it could not begin, broke or failed; otherwise `undefined`. */
    readonly error: string | undefined;
    /** The status, once the call has ended; `undefined` if the server gave none. */
    readonly status: GrpcStatus | undefined;
    /** The metadata before the first message. */
    readonly metadata: Headers;
    /** Number of sent messages. */
    readonly sent: number;
    /** Number of received messages. */
    readonly received: number;
    /** Sends a message. Resolves once the connection has accepted it. */
    send(message: Request): Promise<void>;
    /** Ends the client's side, after the messages in progress. */
    end(): Promise<void>;
    /** Waits for a message, or returns an unread one. With a name, it is measured as a request. Without one, it fails nothing. */
    receive(options?: MessageOptions): Promise<Message>;
    /** All further messages in order, until the call or the load ends. */
    messages(): AsyncIterable<Message>;
    /** Cancels the call. */
    cancel(): Promise<void>;
    /** Resolves when the call has ended. */
    readonly closed: Promise<{ status: GrpcStatus | undefined; details: string; trailers: Headers }>;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # TCP
  // A connection belongs to the user that opened it, and is closed at the end of the iteration. Nothing is read in the background: a read defines the end of
  // its response. A failed step closes the connection, because late data would count as the response to the next step.

  /** Options of a TCP connection. */
  export interface TcpOptions extends RecordOptions {
    /** Name of the connect in reports and thresholds. Default: `TCP` and the address. */
    name?: string;
    /** Use TLS, like an address that begins with `tls://`. Default: false. */
    tls?: boolean;
    /** Time limit of the connect. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Leave the connection open at the end of the iteration, for the user's next one. Store it in `user.state`. In open load every arrival is another visitor,
     * so it is closed anyway. Default: false.
     */
    keep?: boolean;
  }

  /** The end of a response: at most one of `until`, `length` and `toEnd`. Without them, the response is the first bytes that arrive. */
  export interface TcpReadOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: that of the connection and `read` or `request`. */
    name?: string;
    /** It ends with the first occurrence of these bytes, which are part of the response. */
    until?: string | Uint8Array;
    /** It ends after this number of bytes. */
    length?: number;
    /** It ends when the server closes the connection. */
    toEnd?: boolean;
    /** Time limit. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
  }

  /**
   * A TCP connection of one user.
   *
   * @example
   * const c = await user.tcp("127.0.0.1:7000");
   * const size = await c.request("SIZE\n", { length: 4, name: "Size" });
   * const body = await c.read({ length: new DataView(size.bytes.buffer).getUint32(0), name: "Body" });
   */
  export interface TcpConnection {
    /** Whether it was opened, and neither side is known to have closed it. */
    readonly open: boolean;
    /** Why it could not be opened or was lost; otherwise `undefined`. */
    readonly error: string | undefined;
    /** Sends a string (as UTF-8) or bytes. Resolves once the kernel has them. They are measured with the next read. */
    write(data: string | Uint8Array): Promise<void>;
    /**
     * Reads a response. Measured as a request, from the first byte written since the previous response to the last byte. If nothing was written, the time
     * begins now. Read directly after writing, because the script's work in between is part of the time.
     */
    read(options?: TcpReadOptions): Promise<Message>;
    /** Writes and reads as one step, measured as a request. */
    request(data: string | Uint8Array, options?: TcpReadOptions): Promise<Message>;
    /** Closes the connection. */
    close(): void;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # UDP
  // UDP does not report a lost datagram. A request without a response ends with its time limit.

  /** Options of a UDP socket. */
  export interface UdpOptions {
    /** Name of the socket in messages, and of its requests without a name. Default: `UDP host:port`. */
    name?: string;
    /** Time limit of the name lookup. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /** `"drop"` discards datagrams that nothing waits for. Default: `"keep"`, up to 1,000. */
    unread?: "keep" | "drop";
    /**
     * Leave the socket open at the end of the iteration, for the user's next one. Store it in `user.state`. In open load every arrival is another visitor, so
     * it is closed anyway. Default: false.
     */
    keep?: boolean;
  }

  /** A UDP socket of one user. It sends to one address and receives only from it. */
  export interface UdpSocket {
    /** Whether it was opened, and no ICMP message has since reported a closed port. */
    readonly open: boolean;
    /** Why it could not be opened or was lost; otherwise `undefined`. */
    readonly error: string | undefined;
    /** Number of received datagrams. */
    readonly received: number;
    /** Sends a datagram: a string (as UTF-8) or bytes. Measured if it has a name, until the kernel has it. */
    send(data: string | Uint8Array, options?: { name?: string; tags?: Tags }): Promise<void>;
    /** Sends a datagram and waits for the next matching one. Measured as a request. Without a response in time, its outcome is `timeout`. */
    request(data: string | Uint8Array, options?: MessageOptions): Promise<Message>;
    /** Waits for a datagram. Measured if it has a name. */
    receive(options?: MessageOptions): Promise<Message>;
    /** All further datagrams in order, until the socket is closed or the load ends. */
    messages(): AsyncIterable<Message>;
    /** Closes the socket. */
    close(): void;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Redis
  // A user has one connection to each server, with the same lifetime as its HTTP connections. If it is busy, commands wait in order, as the phase `queue` of
  // their time.

  /** Options of a Redis server. */
  export interface RedisOptions {
    /** Version of the protocol (RESP). With 3, maps are objects. Default: 2. */
    protocol?: 2 | 3;
    /** Time limit of each command, including the connect. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
  }

  /** An argument of a command. Numbers are sent as strings. */
  export type RedisArgument = string | number | bigint | Uint8Array;

  /** Options of a command. */
  export interface RedisCommandOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: the command's, or `pipeline`. */
    name?: string;
    /** Time limit. Default: that of the server. */
    timeout?: Duration;
    /** Return strings in the reply as bytes (`Uint8Array`). Default: false. */
    bytes?: boolean;
  }

  /** A value of a reply. Integers beyond 2⁵³ − 1 are strings. An error within a list is an object with its message. */
  export type RedisValue =
    | string | number | boolean | null | Uint8Array | readonly RedisValue[] | { readonly error: string } | { readonly [name: string]: RedisValue };

  /** A Redis server, as used by one user. */
  export interface Redis {
    /**
     * Sends a command and waits for its reply. Measured as a request under the command's name. It never throws for a server's failure: an error makes it
     * failed. Options are the last argument.
     */
    command(name: string, ...rest: readonly RedisArgument[]): Promise<RedisReply>;
    command(name: string, ...rest: readonly [...RedisArgument[], RedisCommandOptions]): Promise<RedisReply>;
    /** Sends several commands at once and waits for all replies. Measured as one request, which any error makes failed. */
    pipeline(commands: readonly (readonly RedisArgument[])[], options?: RedisCommandOptions): Promise<RedisReply<readonly any[]>>;
  }

  /** The result of a command or pipeline. */
  export interface RedisReply<Value = any> {
    /** Whether it was answered without an error. */
    readonly ok: boolean;
    /** The server's error, or why there is no reply; otherwise `undefined`. */
    readonly error: string | undefined;
    /** The reply as a {@link RedisValue}; for a pipeline, a list with the reply to each command. `undefined` if there is none. */
    readonly value: Value | undefined;
    /** The phases of its time. */
    readonly times: Times;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # SQL
  // A user has one connection to each database, with the same lifetime as its HTTP connections. If it is busy, statements wait in order, as the phase `queue`
  // of their time. A transaction uses it until its end.

  /** Options of a database. */
  export interface SqlOptions {
    /** Time limit of each statement, including the connect. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Whether a statement is prepared on its first use and then only executed. For MySQL, this applies to statements with values. A connection pooler may need
     * `false`. Default: true.
     */
    prepare?: boolean;
  }

  /**
   * A value of `$1`, `$2`, …, or of MySQL's `?`. `Uint8Array` is `bytea` or `BLOB`. Dates are sent as strings (to MySQL in UTC), other objects as JSON. Lists
   * are PostgreSQL arrays; the server defines the type of each value. MySQL has no lists.
   */
  export type SqlParameter = string | number | bigint | boolean | null | Uint8Array | Date | object | readonly SqlParameter[];

  /** Options of a statement and of its rows. */
  export interface SqlStatementOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: the first word and the table, such as `SELECT orders`. */
    name?: string;
    /** Time limit. A statement that exceeds it closes the connection. Default: that of the database. */
    timeout?: Duration;
    /** Return rows as lists of values instead of objects. Default: false. */
    arrays?: boolean;
  }

  /** Options of a transaction. */
  export interface SqlTransactionOptions extends RecordOptions {
    /** Name of `BEGIN`, `COMMIT` and `ROLLBACK`. `"Order"` results in `Order begin`, `Order commit` and `Order rollback`. */
    name?: string;
    /** Time limit of `BEGIN`, and of `COMMIT` or `ROLLBACK`. Default: that of the database. */
    timeout?: Duration;
    /** Isolation level. Default: the database's, usually `read committed`. */
    isolation?: "read committed" | "repeatable read" | "serializable";
  }

  /** An object that runs statements. */
  export interface SqlStatements {
    /**
     * Runs one statement and waits for all of its rows. Measured as a request. It never throws for a server's failure: an error makes it failed.
     *
     * @example
     * const added = await sql.query("INSERT INTO orders (product) VALUES ($1) RETURNING id", ["ticket"], { name: "Create order" });
     * if (!added.ok) return;
     * await sql.query("DELETE FROM orders WHERE id = $1", [added.value]);
     */
    query(text: string, options?: SqlStatementOptions): Promise<SqlResult>;
    query(text: string, parameters: readonly SqlParameter[], options?: SqlStatementOptions): Promise<SqlResult>;
  }

  /** A database, as used by one user. */
  export interface Sql extends SqlStatements {
    /**
     * Begins a transaction, runs the function, and commits. It rolls back if a statement fails or the function throws. Run its statements on the function's
     * argument: statements on the database itself wait for the end of the transaction.
     *
     * @example
     * const order = await sql.transaction(async (open) => {
     *   const seat = await open.query("SELECT id FROM seats WHERE NOT taken LIMIT 1 FOR UPDATE SKIP LOCKED");
     *   await open.query("UPDATE seats SET taken = true WHERE id = $1", [seat.value]);
     *   return seat.value;
     * }, { name: "Book" });
     * user.check("booked", order.committed);
     */
    transaction<T>(steps: (open: SqlTransaction) => T | Promise<T>, options?: SqlTransactionOptions): Promise<SqlTransactionResult<T>>;
  }

  /** An open transaction. */
  export interface SqlTransaction extends SqlStatements {
    /** Whether all of its statements have passed so far. */
    readonly ok: boolean;
    /** Rolls back. The transaction accepts no further statements. */
    rollback(): Promise<SqlResult>;
  }

  /** The result of a transaction. */
  export interface SqlTransactionResult<T> {
    /** Whether it was begun, and all of its statements and its end passed. */
    readonly ok: boolean;
    /** Whether it was committed. */
    readonly committed: boolean;
    /** Its first error; `undefined` without an error. */
    readonly error: string | undefined;
    /** SQLSTATE of that error, such as `40001`, or MySQL's number, such as `1213`, if the server sent one. */
    readonly code: string | undefined;
    /** The function's return value; `undefined` if the transaction could not be begun. */
    readonly value: T | undefined;
  }

  /** The result of a statement. */
  export interface SqlResult {
    /** Whether it passed. */
    readonly ok: boolean;
    /** The server's error, beginning with its code, or why there is no response; otherwise `undefined`. */
    readonly error: string | undefined;
    /** SQLSTATE of the error, such as `23505`, or MySQL's number, such as `1062`, if the server sent one. */
    readonly code: string | undefined;
    /** Number of returned or changed rows. */
    readonly count: number;
    /** MySQL's number of the first inserted row (`AUTO_INCREMENT`); otherwise `undefined`. With PostgreSQL, use `RETURNING id`. */
    readonly insertedId: any;
    /**
     * The rows: objects by column name, or lists with `arrays`. Booleans, integers up to 2⁵³ − 1 and floating-point numbers are JavaScript values. JSON is
     * parsed. `bytea` and `BLOB` are a `Uint8Array`. All other values are strings as the server sends them: decimals, times, arrays, larger integers.
     */
    readonly rows: readonly any[];
    /** The first row; `undefined` if there is none. */
    readonly row: any;
    /** The first value of the first row; `undefined` if there is none. */
    readonly value: any;
    /** The phases of its time. */
    readonly times: Times;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Kafka
  // A user has one connection to each broker, with the same lifetime as its HTTP connections. If it is busy, requests wait in order, as the phase `queue` of
  // their time. Consumers belong to the test and not to a user: see {@link kafka}.

  /** Options of a cluster. */
  export interface KafkaOptions {
    /** Replicas that must have a record before it counts as written. Default: `"all"`. */
    acks?: KafkaAcks;
    /** Compression of batches, like Kafka's `compression.type`. Default: `"none"`. */
    compression?: KafkaCompression;
    /** Time limit of each request, including the connect. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
  }

  /** All in-sync replicas, only the partition's leader, or none. With none, there is no response, and the request ends when it was sent. */
  export type KafkaAcks = "all" | 1 | 0;

  /** Compression of a batch. Brokers of 2.1 and later support zstd. */
  export type KafkaCompression = "none" | "gzip" | "snappy" | "lz4" | "zstd";

  /** A string, bytes or a number, which is sent as a string; `null` is no value. */
  export type KafkaBytes = string | number | bigint | Uint8Array | null;

  /** A record for a topic: a `value`, or a `json`. */
  export interface KafkaRecord {
    /** Records with the same key go to the same partition, as with Kafka's own producers. Default: none. */
    key?: KafkaBytes;
    /** `null` deletes this key in a compacted topic. */
    value?: KafkaBytes;
    /** The value, sent as JSON. */
    json?: unknown;
    /** Headers by name. A list repeats its name. */
    headers?: Readonly<Record<string, KafkaBytes | readonly KafkaBytes[]>>;
    /** Default: that of the key. Without a key, the next one in turn for all such records of a request. */
    partition?: number;
    /** Milliseconds since 1970. Default: now. */
    timestamp?: number;
  }

  /** Options of written records. */
  export interface KafkaProduceOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: `produce` and the topic. */
    name?: string;
    /** Time limit. A request that exceeds it closes the connection. Default: that of the cluster. */
    timeout?: Duration;
    /** Default: that of the cluster. */
    acks?: KafkaAcks;
    /** Default: that of the cluster. */
    compression?: KafkaCompression;
  }

  /** A Kafka cluster, as used by one user. */
  export interface Kafka {
    /**
     * Writes records at once and waits for their acknowledgement. Measured as one request. It never throws for a broker's failure: a refusal makes it failed.
     *
     * @example
     * await kafka.produce("orders", { key: "7", value: "ticket", headers: { source: "web" } });
     * await kafka.produce("orders", orders.map((order) => ({ key: order.id, json: order })), { acks: 1, name: "Batch" });
     */
    produce(topic: string, records: KafkaRecord | readonly KafkaRecord[], options?: KafkaProduceOptions): Promise<KafkaResult>;
  }

  /** The position of a record. */
  export interface KafkaPlace {
    /** Number of the partition, from 0. */
    readonly partition: number;
    /** `undefined` with `acks: 0`. */
    readonly offset: number | undefined;
  }

  /** The result of written records. */
  export interface KafkaResult {
    /** Whether all were written. */
    readonly ok: boolean;
    /** The broker's error, beginning with its code, or why there is no response; otherwise `undefined`. */
    readonly error: string | undefined;
    /** Kafka's name of the error, such as `NOT_ENOUGH_REPLICAS`, if there is one. */
    readonly code: string | undefined;
    /** Partition of the first record. */
    readonly partition: number | undefined;
    /** Offset of the first record; `undefined` with `acks: 0`. */
    readonly offset: number | undefined;
    /** Positions of all records, in order; empty after a failure. */
    readonly places: readonly KafkaPlace[];
    /** The phases of its time. */
    readonly times: Times;
  }

  /** A consumed record. Read its value as `text`, `json(…)`, `regex(…)` and `bytes`. */
  export interface KafkaConsumedRecord extends Extractable {
    /** Its topic. */
    readonly topic: string;
    /** Number of its partition, from 0. */
    readonly partition: number;
    /** Its offset in that partition. */
    readonly offset: number;
    /** Milliseconds since 1970, as set by the producer or the broker. */
    readonly timestamp: number;
    /** The key as a string; `undefined` if there is none. */
    readonly key: string | undefined;
    /** Headers as strings; if a name repeats, the last. */
    readonly headers: Headers;
    /** `false` for a record that deletes its key. */
    readonly hasValue: boolean;
    /** The value as bytes. */
    readonly bytes: Uint8Array;
  }

  /** Consumers of a test. */
  export const kafka: {
    /**
     * Calls a function for each record written to the topic since the start of the run, by any producer. Use it to finish journeys. It reads all partitions,
     * without a consumer group. Declare it at the top level of the test. The function runs in the realm of the stubs and must return at once. Its flow events
     * count from the time at which the record was read.
     *
     * @example
     * const delivery = flow("Delivery");
     * kafka.consume("kafka://127.0.0.1:9092", "delivered", (record) => delivery.finish(record.json("$.orderId")));
     */
    consume(url: string, topic: string, take: (record: KafkaConsumedRecord) => void | Promise<void>): void;
  };

  // ───────────────────────────────────────────────────────────────────────────
  // # Data
  // Data files are read once, for all cores and users. Paths are relative to the calling file. Declare feeders, shared values and files at the top level of the
  // test.

  /**
   * Rows of a CSV file; the first line names the columns. Values are strings. A missing or empty file, or a line with too many or too few values, stops the
   * start.
   *
   * @example
   * const barcodes = csv("barcodes.csv").circular();
   * const { barcode } = barcodes.next();
   */
  export function csv<Row = Record<string, string>>(path: string, options?: CsvOptions): Source<Row>;

  /** Format of a CSV file. */
  export interface CsvOptions {
    /** Separator of values, one character. Default: ",". */
    separator?: string;
    /** Names of the columns, for a file without a header line. */
    columns?: readonly string[];
  }

  /**
   * Rows of a JSON file that contains a list, or of the list at a JSON path in it.
   *
   * @example
   * const tokens = json("session.json", "$.tokens").random();
   */
  export function json<Row = any>(path: string, at?: string): Source<Row>;

  /** Rows of a file with one JSON value per line. Empty lines are skipped. */
  export function jsonl<Row = any>(path: string): Source<Row>;

  /** Rows defined in the script. Every core has its own copy, but rows are distributed exactly across cores. */
  export function rows<Row>(list: readonly Row[]): Source<Row>;

  /** Rows of data. Select how they are distributed. Each call creates a feeder with its own position. */
  export interface Source<Row> {
    /** Number of rows. */
    readonly length: number;
    /** In order, restarting after the last: exactly one row per call of `next`, across all cores. */
    circular(): Feeder<Row>;
    /** A random row, with repetition. The draws repeat with the run's seed. */
    random(): Feeder<Row>;
    /** Every row once, in an order drawn from the run's seed. Then it is exhausted. */
    shuffle(): Feeder<Row>;
    /** Every row once, in order. Then it is exhausted. */
    queue(): Feeder<Row>;
  }

  /** Distributes rows to all users of the run. */
  export interface Feeder<Row> {
    /**
     * The next row, as a new object.
     *
     * If a `shuffle` or `queue` is exhausted, the calling iteration ends at once and counts neither as passed nor as failed. Its load part starts no further
     * iterations; running ones may finish. The console reports this once.
     */
    next(): Row;
    /** Remaining rows; `Infinity` for repeating feeders. */
    readonly remaining: number;
  }

  /**
   * Rows from a function. Each call in the run gets a unique number: 0, 1, 2, …
   *
   * @example
   * const accounts = generator((n) => ({ name: `account-${n}`, limit: 100 + n % 7 }));
   */
  export function generator<Row>(make: (n: number) => Row): Feeder<Row>;

  /**
   * A value that all users on all cores share, under a name. A set-up can pass its results to other scenarios through it. It must be representable as JSON.
   * Variables of the module are *not* shared: every core has its own.
   *
   * @example
   * const tokens = shared<string[]>("tokens", []);
   * const setUp  = scenario("Set up", async (user) => { tokens.push((await user.post("/login")).json("$.token")); });
   * const browse = scenario("Browse", (user) => user.get("/", { auth: { bearer: user.random.choice(tokens.get()) } }));
   */
  export function shared<T>(name: string, initial: T): Shared<T>;

  /** A value that all users share. All users see every change, and no change is lost. */
  export interface Shared<T> {
    /** The current value. Do not modify it in place: use the methods below. This is cheap while the value does not change. */
    get(): T;
    /** Replaces the value. */
    set(value: T): void;
    /** Replaces the value by the function's result, and returns the new value. The function may be called again if another core was faster. */
    update(change: (value: T) => T): T;
    /** Adds to a number, and returns the new value. Default: 1. */
    increment(this: Shared<number>, by?: number): number;
    /** Appends items to a list, and returns its new length. */
    push<Item>(this: Shared<Item[]>, ...items: Item[]): number;
    /** Removes the first item of a list and returns it; `undefined` if the list is empty. No item is returned twice. */
    shift<Item>(this: Shared<Item[]>): Item | undefined;
  }

  /**
   * Collects rows from all users in a file for a later test: `.csv` or `.jsonl`, relative to the calling file. It is written at the end of the run and replaces
   * the previous one. A run without collected rows, and `loadstone try`, do not change the file.
   *
   * @example
   * const barcodes = collect<{ barcode: string }>("barcodes.csv");     // and in the next test: csv("barcodes.csv").circular()
   * const buy = scenario("Buy", async (user) => barcodes.add({ barcode: (await user.post("/tickets")).json("$.barcode") }));
   */
  export function collect<Row extends object = Record<string, string | number | boolean | null>>(path: string): Collection<Row>;

  /** A file that collects rows. */
  export interface Collection<Row> {
    /** Adds a row. In a CSV file all rows have the columns of the first one. Values are strings, numbers and booleans. */
    add(row: Row): void;
  }

  /**
   * A string that no other call returns, in this or another run, on any core or machine. It is short, and consists of letters, digits and `-`. It does not
   * repeat with the seed.
   *
   * @example
   * const email = `${uniqueId("user")}@example.com`;   // user-m3k9x2ab-0-1
   */
  export function uniqueId(prefix?: string): string;

  /** Random draws from one stream per core, seeded by the run. In scenarios, prefer `user.random`, whose draws do not depend on other users. */
  export const random: Random;

  /** Random draws from the run's seed. */
  export interface Random {
    /** At least 0 and below 1. */
    number(): number;
    /** A number from `min` (inclusive) to `max` (exclusive). */
    between(min: number, max: number): number;
    /** A whole number from `min` to `max`, inclusive. */
    integer(min: number, max: number): number;
    /** True with the given probability. Default: 0.5. */
    boolean(probability?: Share): boolean;
    /** One item of a list, which must not be empty. */
    choice<T>(list: readonly T[]): T;
    /**
     * One of the keys, in proportion to its weight.
     *
     * @example
     * user.random.weighted({ browse: 80, search: 15, buy: 5 })
     */
    weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
    /** A new list with the same items in another order. */
    shuffle<T>(list: readonly T[]): T[];
    /** A string of the given length. Default alphabet: `a`–`z` and `0`–`9`. */
    string(length: number, alphabet?: string): string;
    /** Random bytes. Not for secrets: they repeat with the seed. */
    bytes(count: number): Uint8Array;
    /** A version 4 UUID. It repeats with the seed; {@link uniqueId} does not. */
    uuid(): string;
    /** A number from a normal distribution. */
    normal(mean: number, deviation: number): number;
    /** A number from an exponential distribution. */
    exponential(mean: number): number;
    /** A number of milliseconds from a delay distribution. */
    delay(delay: Delay): number;
  }

  /**
   * Replaces `{{name}}` in a text file with values. A missing value is an error that names it, the file and the line. Strings are inserted unchanged, other
   * values as JSON. `{{a.b}}` accesses objects, `{{name|json}}` inserts a value as JSON, `{{name|url}}` encodes it for a URL, and `\{{` is a literal `{{`.
   *
   * @example
   * await user.post("/orders", { headers: { "content-type": "application/json" }, body: template("order.json", { product: 7, amount: 3 }) });
   * const hello = template.text("Hello {{name}}!", { name: "Ada" });
   */
  export const template: TemplateFunction;

  /** Fills templates from files, and from strings (`text`). */
  export interface TemplateFunction {
    /** Fills a template from a file, relative to the calling file. */
    (path: string, values?: TemplateValues): string;
    /** Fills a template from a string. */
    text(text: string, values?: TemplateValues): string;
  }

  /** Values for a {@link template}. */
  export type TemplateValues = Readonly<Record<string, unknown>>;

  /**
   * A file, read once, for bodies and uploads. `type` is its media type, guessed from the name by default. `name` is the file name in uploads.
   *
   * @example
   * await user.post("/photos", { multipart: { title: "Sunset", photo: file("sunset.jpg") } });
   */
  export function file(path: string, options?: { type?: string; name?: string }): FileContent;

  /** The content of a file. */
  export interface FileContent {
    /** File name in uploads. */
    readonly name: string;
    /** Media type, such as `image/jpeg`. */
    readonly type: string;
    /** Size in bytes. */
    readonly size: number;
    /** The content as a string (UTF-8). */
    readonly text: string;
    /** The content as bytes. */
    readonly bytes: Uint8Array;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Flows

  /**
   * An asynchronous journey, correlated by a key. It starts in one place and finishes in another, on another connection. Declare it at the top level of the
   * file. After the load, the run continues until no journey is open, or for `drain`. Unfinished journeys count as open or lost, never as fast
   * (docs/metrics.md, Flows).
   *
   * @example
   * const delivery = flow("Time to send", { timeout: "15m", drain: "5m" });
   * const subscriber = stub.http({ listen: "127.0.0.1:9099", delay: "loguniform(100ms, 2s)" });
   * subscriber.on("POST /webhook", (request) => delivery.finish(request.json("$.payment")));
   * const pay = scenario("Pay", async (user) => {
   *   const answer = await user.post("/payments", { json: { amount: 1200 } });
   *   delivery.start(answer.json("$.id"), { since: answer });
   * });
   */
  export function flow(name: string, options?: FlowOptions): Flow;

  /** Options of a flow. */
  export interface FlowOptions {
    /** A longer journey is lost. Default: none, until the run ends. */
    timeout?: Duration;
    /** How long the run continues after its load while journeys are open. Ctrl-C ends it sooner. Default: "1m". */
    drain?: Duration;
    /** Names of the stages of a journey, in order; at most 32. */
    stages?: readonly string[];
  }

  /** A declared flow. Keys are strings or numbers; 7 and "7" are the same key. After the end of a journey, its key may start another. */
  export interface Flow {
    /** Name in reports and thresholds. */
    readonly name: string;
    /**
     * Starts the journey of this key: now, or with `since` when that response's request, or that user's iteration, was *due*. Use `since` if the key comes from
     * a response. Otherwise a slow response hides part of the journey.
     *
     * @example
     * delivery.start(answer.json("$.id"), { since: answer });
     */
    start(key: string | number, options?: { since?: Response | User }): void;
    /** Reports that the journey of this key has reached a stage. */
    stage(name: string, key: string | number): void;
    /** Ends the journey of this key. In a stub's function, the end is the arrival of the request. */
    finish(key: string | number): void;
  }

  /** Time of a flow's journeys from start to finish, or until they reach a stage. */
  export function flowTime(flow: Flow | string, stage?: string): TimeMetric;
  /** Open journeys of a flow at the end of each second. */
  export function flowBacklog(flow: Flow | string): LevelMetric;
  /** Journeys of a flow that timed out or were open at the end of the run. `rate` is their share of the started ones. */
  export function flowLost(flow: Flow | string): CountMetric<number, Share>;

  // ───────────────────────────────────────────────────────────────────────────
  // # Experiments

  /**
   * A setting of the system that `loadstone experiment` switches back and forth, to prove a cause (docs/experiment.md). Declare it at the top level of the
   * file. No other command changes it.
   *
   * @example
   * knob("pool", {
   *   values: [5, 10],
   *   apply: (size) => ({ command: `POOL_SIZE=${size} docker compose up -d shop` }),
   *   ready: "http://127.0.0.1:8080/health",
   * });
   */
  export function knob<const V extends KnobValues>(name: string, options: KnobOptions<V>): Knob;

  /** Two or more values. */
  export type KnobValues = readonly [KnobValue, KnobValue, ...KnobValue[]];

  /** A value of the setting. Of two numbers, the greater one counts as the higher capacity. */
  export type KnobValue = string | number | boolean;

  /** The result of {@link knob}. */
  export interface Knob {
    /** The declared name. */
    readonly name: string;
  }

  /** Values of the setting, and how to apply them. */
  export interface KnobOptions<V extends KnobValues> {
    /** The first value is the reference, and is restored at the end, also after Ctrl-C or a failure. */
    values: V;
    /** The change for a value: one, or several in sequence. Called once per value, before any load. */
    apply: (value: V[number]) => KnobChange | readonly KnobChange[];
    /** URL that returns 2xx once the system is ready again. Default: ready at once. */
    ready?: string;
    /** Time limit of each change, and of getting ready. Default: "30s". */
    within?: Duration;
    /** Pause after the system is ready. Default: none. */
    settle?: Duration;
  }

  /** A change of the system. */
  export type KnobChange =
    /** A line for `sh`, in the test's folder. It must exit with 0. Its background processes continue. */
    | { command: string }
    /** A request, which must return 2xx. Default: POST. */
    | { http: string; method?: string; headers?: Headers; json?: unknown; body?: string }
    /** Writes a file, relative to the test's folder. */
    | { file: string; text: string }
    /** New effects of one of Loadstone's proxies. Omitted effects end. */
    | ({ proxy: TcpProxy } & ProxyEffects)
    /** CPUs that the control group of a process may use (versions 1 and 2), or "all". */
    | { cpus: number | "all"; of: KnobTarget }
    /** Stops or continues a process. */
    | { paused: boolean; of: KnobTarget };

  /** Processes of this machine: the listeners on a port with all their descendants, a single process, or a control group. */
  export type KnobTarget = { port: number } | { pid: number } | { cgroup: string };

  /** Effects of a proxy on its connections. */
  export interface ProxyEffects {
    /** Added to every round trip: data from the caller waits this long. Default: none. */
    delay?: Duration;
    /** Bytes per second of all connections together, in each direction. Default: no limit. */
    bandwidth?: number;
    /** Share of new connections that are reset when their first bytes arrive. Default: 0. */
    resets?: Share;
  }

  /** Loadstone's proxies, between the system and its dependencies. */
  export const proxy: {
    /**
     * A TCP proxy. It serves during the test. In an experiment, it serves throughout, so that its connections remain. Configure the system to connect to
     * `listen`. Declare it at the top level of the file.
     *
     * @example
     * const database = proxy.tcp({ listen: "127.0.0.1:6432", to: "127.0.0.1:5432" });
     * knob("delay at PostgreSQL", { values: ["0ms", "1ms", "2ms"], apply: (delay) => ({ proxy: database, delay }) });
     */
    tcp(options: ProxyOptions): TcpProxy;

    /**
     * An HTTP proxy between another tool and the system, which records each request. Only as the `record` of {@link watch}. Send the load to `listen`.
     *
     * @example
     * export default watch({ record: proxy.http({ listen: "127.0.0.1:18080", to: "http://127.0.0.1:8080" }) });
     *
     * @unreleased
     */
    http(options: RecordingProxyOptions): RecordingProxy;
  };

  /** Where a recording proxy listens, and where it forwards to. */
  export interface RecordingProxyOptions {
    /** Address and port, such as "127.0.0.1:18080". */
    listen: string;
    /** URL of the system, without a path. "https://…": the proxy opens TLS to it. "tcp://…" passes everything on, and only connections are recorded. */
    to: string;
    /** Accept TLS, by an authority whose certificate is written to this file for the tool to trust. Default: plain HTTP. */
    ca?: string;
  }

  /** A proxy whose requests are the record of `loadstone watch`. */
  export interface RecordingProxy {
    readonly [brand]: "recording proxy";
  }

  /** Addresses and initial effects of a proxy. */
  export interface ProxyOptions extends ProxyEffects {
    /** Address and port, such as "127.0.0.1:6432". */
    listen: string;
    /** Address and port of the server behind it. */
    to: string;
  }

  /** A proxy. */
  export interface TcpProxy {
    /** Its listening address. */
    readonly address: string;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Stubs

  /**
   * Creates simulated endpoints for the system under test. They serve during the test, by default on loopback. Their signals are `stub:NAME/calls`,
   * `in_flight`, `in_flight_max`, `hold`, `answered`, `rejected`, `faulted`.
   */
  export const stub: {
    /**
     * An HTTP server (HTTP/1.1, and HTTP/2 with prior knowledge or over TLS). Declare it at the top level of the file. `loadstone stub` serves the same from
     * the command line.
     *
     * @example
     * const subscriber = stub.http({ listen: "127.0.0.1:9099", delay: "loguniform(100ms, 2s)", limit: { rate: "360/s" } });
     */
    http(options?: StubOptions): HttpStub;
    /**
     * A gRPC server for services declared with {@link proto}. Declare it at the top level of the file. It also has server reflection and the health check
     * (`grpc.health.v1.Health`, SERVING). Other methods are UNIMPLEMENTED. `loadstone types shop.proto` types its messages.
     *
     * @example
     * const ledger = stub.grpc({ name: "ledger", delay: "lognormal(8ms, 4ms)", faults: { share: "1%", fault: "UNAVAILABLE" } });
     */
    grpc(options?: GrpcStubOptions): GrpcStub;
    /**
     * A TCP server that answers bytes with bytes. It answers the requests of a connection in order, and the connection remains open. The function runs outside
     * the users' realm, like those of {@link HttpStub.on}. Declare it at the top level of the file.
     *
     * @example
     * const cache = stub.tcp({ until: "\r\n", delay: "1ms" }, (request) => (request.text === "PING\r\n" ? "+PONG\r\n" : "-ERR\r\n"));
     * stub.tcp({ listen: "127.0.0.1:9100", length: 8, answer: new Uint8Array([0]), faults: { share: "1%", fault: "reset" } });
     */
    tcp(options?: TcpStubOptions, handle?: (request: TcpStubRequest) => TcpStubAnswer | string | Uint8Array | void): TcpStub;
    /**
     * A name server (UDP and TCP, records A and AAAA). Unlisted names do not exist (NXDOMAIN). Its signals are those of any stub, plus `lookups{name=…}` and
     * `address_number{name=…}` per name. Let the system use it: in a container or a mount namespace with its own `/etc/resolv.conf` (docs/decisions.md), which
     * supports only port 53.
     *
     * @example
     * stub.dns({
     *   listen: "127.0.77.53:53",
     *   delay: "4ms",
     *   ttl: "5s",
     *   names: {
     *     "db.test": "127.0.0.1",
     *     "statsd.test": { address: "127.0.77.1", moves: [{ after: "1m", address: "127.0.77.2" }] },
     *   },
     * });
     */
    dns(options: DnsOptions): DnsStub;
  };

  /** Address and answers of a simulated name server. */
  export interface DnsOptions {
    /** Address and port. */
    listen: string;
    /** Name of its signals. Default: `dns`. */
    name?: string;
    /** The existing names: an address, several, or more details. */
    names: { readonly [name: string]: string | readonly string[] | DnsAnswer };
    /** Validity of an answer, in whole seconds. Default: 30s. */
    ttl?: Duration;
    /** Delay of an answer. Default: none. */
    delay?: Delay;
    /** Share of UDP questions that get no answer. Default: 0. */
    loss?: Share;
    /** Seed of its draws. Default: 1. */
    seed?: number;
  }

  /** The answer for one name. */
  export interface DnsAnswer {
    /** IPv4 and IPv6 addresses. */
    address: string | readonly string[];
    /** Overrides the server's `ttl`. */
    ttl?: Duration;
    /** Other addresses, from this time after the start of the run. */
    moves?: readonly { after: Duration; address: string | readonly string[] }[];
  }

  /** A simulated name server. */
  export interface DnsStub {
    /** Its listening address. */
    readonly address: string;
  }

  /** Options of a simulated server: its address ({@link StubServer}), and the default response of its routes ({@link StubAnswerOptions}). */
  export interface StubOptions extends StubAnswerOptions, StubServer {
    /**
     * Use TLS: `true` with a generated certificate, which callers must not verify, or your own PEM files of a certificate chain and its key, relative to the
     * test file. Default: false.
     */
    tls?: boolean | { certificate: string; key: string };
  }

  /** Response and behaviour ({@link StubBehaviour}) of an endpoint. */
  export interface StubAnswerOptions extends StubBehaviour {
    /** Default: 200. */
    status?: number;
    /** Headers of the response. */
    headers?: Headers;
    /** Body of the response; at most one of `body`, `json`, `template`, `size` and `echo`. */
    body?: string;
    /** Body of the response, as JSON. */
    json?: unknown;
    /**
     * String with placeholders: `{{method}}`, `{{path}}`, `{{body}}`, `{{sequence}}`, `{{id}}`, `{{parameter.NAME}}`, `{{query.NAME}}`, `{{header.NAME}}`,
     * `{{json.a.b.0}}`.
     */
    template?: string;
    /** Number of filler bytes. */
    size?: number;
    /** Answer with the request's body. */
    echo?: boolean;
    /** Compress for clients that accept it. */
    gzip?: boolean;
    /** Faults for a share of the requests: a status, a reset of the connection, or no response. */
    faults?: StubFault | readonly StubFault[];
    /** Limits of rate and concurrency. Default: none. */
    limit?: StubLimit;
    /** Bytes per second that all responses share. */
    bandwidth?: number;
    /** Send the body in pieces of this many bytes, at this interval. */
    slow?: { bytes: number; every: Duration };
  }

  /** A share of requests, and their fault. */
  export interface StubFault {
    /** Share of the requests: 0.01 or `"1%"`. */
    share: Share;
    /** A status, a reset of the connection, or no response. */
    fault: number | "reset" | "silence";
  }

  /** Limits of a real endpoint. Each route has its own. */
  export interface StubLimit {
    /** Requests per second. Requests above it are rejected with `Retry-After`. */
    rate?: Rate;
    /** Requests allowed at once after a pause. Default: 1. */
    burst?: number;
    /** Requests served at once. The others wait in a queue. */
    concurrent?: number;
    /** Maximum length of the queue. Further requests are rejected. Default: no limit. */
    queue?: number;
    /** Status of rejected requests. Default: 429 above the rate, 503 if the queue is full. */
    reject?: number;
    /** Value of `Retry-After` above the rate. Default: the time until a request is allowed again. */
    retryAfter?: Duration;
  }

  /** A simulated HTTP server. */
  export interface HttpStub {
    /** `http://127.0.0.1:9099`, also if any free port was requested. */
    readonly url: string;
    /**
     * Adds a route: `"POST /webhook"`, `"GET /accounts/:id"`, `"* /files/*"`. The first match serves. With routes, other requests get 404. The function runs
     * outside the users' realm; both share {@link shared} values. It is called when a request arrives, and its result is sent after the delay. It cannot wait.
     * The stub's options apply to everything that the function and the route's options omit.
     *
     * @example
     * subscriber.on("POST /webhook", (request) => delivery.finish(request.json("$.payment")), { status: 202 })
     *   .on("GET /accounts/:id", (request) => ({ json: { id: request.parameters.id, open: true } }))
     *   .on("GET /health", { body: "ok", delay: "0ms" });
     */
    on(route: string, handle: (request: StubRequest) => StubAnswer | void, options?: StubAnswerOptions): HttpStub;
    /** Adds a route without a function. */
    on(route: string, options?: StubAnswerOptions): HttpStub;
  }

  /** A request that a stub received. */
  export interface StubRequest extends Extractable {
    /** HTTP method, in capitals. */
    readonly method: string;
    /** Without the query. */
    readonly path: string;
    /** As declared. */
    readonly route: string;
    /** Named parts of the path. */
    readonly parameters: Readonly<Record<string, string>>;
    /** The first value of each name in the query. */
    readonly query: Readonly<Record<string, string>>;
    /** Names in lower case. */
    readonly headers: Headers;
    /** Trailers, names in lower case. Only over HTTP/2; otherwise empty. */
    readonly trailers: Headers;
    /** First value of a header, by name in any case; `undefined` if missing. */
    header(name: string): string | undefined;
    /** The body as bytes. */
    readonly bytes: Uint8Array;
  }

  /** Behaviour of any endpoint. A request passes in this order: limits, fault, function, delay, response. */
  export interface StubBehaviour {
    /** Time until the response. Default: none. */
    delay?: Delay;
    /** Measured delays in milliseconds, instead of `delay`. Draws interpolate between them. */
    delaysMs?: readonly number[];
    /** A file of delays, one per line. Of a line with commas, the first field counts. */
    delaysFrom?: string;
    /** Delays that change with the stub's age, instead of `delay`. The last stage continues. */
    stages?: readonly { until: Duration; delay: Delay }[];
  }

  /** Address and name of a stub. */
  export interface StubServer {
    /** Address and port. Default: 127.0.0.1 and any free port. */
    listen?: string;
    /** Name of its signals. Default: the port. With any free port, its number among the file's stubs. */
    name?: string;
    /** Use TLS, as {@link StubOptions.tls}. Default: false. */
    tls?: boolean | { certificate: string; key: string };
    /** Seed of its draws. Default: 1. */
    seed?: number;
  }

  /**
   * Options of a simulated gRPC server: its address ({@link StubServer}), and the default response of its methods ({@link GrpcStubEnding},
   * {@link GrpcStubBehaviour}).
   */
  export interface GrpcStubOptions extends StubServer, GrpcStubEnding, GrpcStubBehaviour {
  }

  /** Behaviour of a gRPC method, like any endpoint ({@link StubBehaviour}), with gRPC statuses. */
  export interface GrpcStubBehaviour extends StubBehaviour {
    /** Faults for a share of the calls: a status, a reset of the stream, or no response. */
    faults?: GrpcStubFault | readonly GrpcStubFault[];
    /** Limits of rate and concurrency. Default: none. */
    limit?: GrpcStubLimit;
    /** Compress messages for clients that accept it. Default: false. */
    gzip?: boolean;
  }

  /** A share of calls, and their fault. */
  export interface GrpcStubFault {
    /** Share of the calls: 0.01 or `"1%"`. */
    share: Share;
    /** A status, a reset of the stream, or no response. */
    fault: GrpcStatus | "reset" | "silence";
  }

  /** Limits of a real server. Each method has its own. */
  export interface GrpcStubLimit {
    /** Calls per second. Calls above it are rejected. */
    rate?: Rate;
    /** Calls allowed at once after a pause. Default: 1. */
    burst?: number;
    /** Calls served at once. The others wait in a queue. */
    concurrent?: number;
    /** Maximum length of the queue. Further calls are rejected. Default: no limit. */
    queue?: number;
    /** Status of rejected calls. Default: RESOURCE_EXHAUSTED above the rate, UNAVAILABLE if the queue is full. */
    reject?: GrpcStatus;
  }

  /** The parts of a response around its messages. */
  export interface GrpcStubEnding {
    /** Default: OK. Any other status comes without a message if the server does not stream. */
    status?: GrpcStatus;
    /** Message of the status. */
    details?: string;
    /** Metadata before the messages: a string, a list of strings, or bytes for names that end in `-bin`. */
    metadata?: { readonly [name: string]: string | readonly string[] | Uint8Array };
    /** Metadata after the messages. */
    trailers?: { readonly [name: string]: string | readonly string[] | Uint8Array };
  }

  /** The messages of a response. */
  export interface GrpcStubMessages<Answer = object> {
    /** The message, or the only one of a stream. Default: one without fields; for a stream, none. */
    message?: Answer;
    /** If the server streams: all its messages. */
    messages?: readonly Answer[];
    /** Time between two messages. Default: none. */
    every?: Duration;
  }

  /** Response ({@link GrpcStubMessages}, {@link GrpcStubEnding}) and behaviour ({@link GrpcStubBehaviour}) of a method. */
  export interface GrpcStubMethodOptions<Answer = object> extends GrpcStubMessages<Answer>, GrpcStubEnding, GrpcStubBehaviour {
  }

  /**
   * Response of a method's function ({@link GrpcStubMessages}, {@link GrpcStubEnding}). It replaces the messages, status and trailers of the method's options.
   */
  export interface GrpcStubAnswer<Answer = object> extends GrpcStubMessages<Answer>, GrpcStubEnding {
    /** Overrides the method's delay. */
    delay?: Delay;
  }

  /** A simulated server of gRPC. */
  export interface GrpcStub {
    /** `http://127.0.0.1:50051`, also if any free port was requested; `https://` with TLS. */
    readonly url: string;
    /**
     * Adds a method: `"package.Service/Method"`. It responds when all messages of a call have arrived. If both sides stream, each message is answered as it
     * arrives, and counts as a separate call for faults, limits and signals. The function runs outside the users' realm, like those of {@link HttpStub.on}.
     *
     * @example
     * ledger.on("shop.v1.Shop/GetProduct", (call) => ({ message: { id: call.message.productId, name: "Lamp" } }), { delay: "20ms" })
     *   .on("shop.v1.Shop/Order", { status: "ALREADY_EXISTS", details: "ordered before" })
     *   .on("shop.v1.Shop/Watch", { messages: [{ cents: 995 }, { cents: 990 }], every: "100ms" });
     */
    on<M extends keyof GrpcMethods>(
      method: M,
      handle: (call: GrpcStubCall<Typed<M, "received">>) => GrpcStubAnswer<Typed<M, "answer">> | void,
      options?: GrpcStubMethodOptions<Typed<M, "answer">>,
    ): GrpcStub;
    on<M extends string>(
      method: M extends keyof GrpcMethods ? never : M,
      handle: (call: GrpcStubCall) => GrpcStubAnswer | void,
      options?: GrpcStubMethodOptions,
    ): GrpcStub;
    /** Adds a method without a function. */
    on<M extends keyof GrpcMethods>(method: M, options?: GrpcStubMethodOptions<Typed<M, "answer">>): GrpcStub;
    on<M extends string>(method: M extends keyof GrpcMethods ? never : M, options?: GrpcStubMethodOptions): GrpcStub;
  }

  /** A call that a stub received. Its first message, as JSON, is the body for extraction. */
  export interface GrpcStubCall<Message = any> extends Extractable {
    /** As declared. */
    readonly method: string;
    /** The message, or the first of several; `undefined` if none arrived. */
    readonly message: Message;
    /** All messages. */
    readonly messages: readonly Message[];
    /** Metadata and other header fields of the call, names in lower case. Values of names in `-bin` are base64. */
    readonly metadata: Headers;
    /** A field of the metadata, by name in any case; `undefined` if missing. */
    header(name: string): string | undefined;
  }

  /** Options of a simulated TCP server: its address ({@link StubServer}), behaviour ({@link StubBehaviour}), the end of requests, and the answer. */
  export interface TcpStubOptions extends StubServer, StubBehaviour {
    /** A request ends with this string or these bytes. Without `until` and `length`, a request is the data that arrives together. */
    until?: string | Uint8Array;
    /** A request has this number of bytes. */
    length?: number;
    /** Sent to each new connection at once. Default: nothing. */
    greeting?: string | Uint8Array;
    /** Answer to every request. Default: nothing. */
    answer?: string | Uint8Array;
    /** Answer with the request. */
    echo?: boolean;
    /** Close the connection after each answer. Default: false. */
    close?: boolean;
    /** Faults for a share of the requests: a reset of the connection, or no answer to this and all later requests. */
    faults?: TcpStubFault | readonly TcpStubFault[];
    /** Limits of rate and concurrency. Rejected requests close the connection without an answer. Default: none. */
    limit?: { rate?: Rate; burst?: number; concurrent?: number; queue?: number };
  }

  /** A share of requests, and their fault. */
  export interface TcpStubFault {
    /** Share of the requests: 0.01 or `"1%"`. */
    share: Share;
    /** A reset of the connection, or no answer. */
    fault: "reset" | "silence";
  }

  /** A simulated server of TCP. */
  export interface TcpStub {
    /** `127.0.0.1:9100`, also if any free port was requested. */
    readonly address: string;
  }

  /** A request that a TCP stub received, including its end. */
  export interface TcpStubRequest extends Extractable {
    /** The bytes. */
    readonly bytes: Uint8Array;
  }

  /** The answer of a TCP stub's function. */
  export interface TcpStubAnswer {
    /** Default: that of the options. */
    answer?: string | Uint8Array;
    /** Overrides the stub's delay. */
    delay?: Delay;
    /** Close the connection after the answer. Default: that of the options. */
    close?: boolean;
  }

  /** The response of a route's function. */
  export interface StubAnswer {
    /** HTTP status. Default: the route's. */
    status?: number;
    /** Headers, in addition to the route's. */
    headers?: Headers;
    /** The body as a string. */
    body?: string;
    /** The body as JSON, instead of `body`. */
    json?: unknown;
    /** Overrides the route's delay. */
    delay?: Delay;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Hashing and encoding

  /** Encoding of bytes as a string, or `bytes` for the bytes. */
  export type Encoding = "hex" | "base64" | "base64url" | "bytes";

  /** Hash functions for signed requests. */
  export type HashName = "md5" | "sha1" | "sha256" | "sha512";

  /**
   * The hash of a string (as UTF-8) or of bytes. Default encoding: "hex".
   *
   * @example
   * hash("sha256", "hello")            // 2cf24dba…
   */
  export function hash(name: HashName, data: string | Uint8Array, encoding?: Exclude<Encoding, "bytes">): string;
  export function hash(name: HashName, data: string | Uint8Array, encoding: "bytes"): Uint8Array;

  /**
   * A keyed hash (HMAC) for request signatures. Default encoding: "hex".
   *
   * @example
   * const signature = hmac("sha256", secret, `${method}\n${path}\n${body}`, "base64");
   */
  export function hmac(name: HashName, key: string | Uint8Array, data: string | Uint8Array, encoding?: Exclude<Encoding, "bytes">): string;
  export function hmac(name: HashName, key: string | Uint8Array, data: string | Uint8Array, encoding: "bytes"): Uint8Array;

  /** Base64, with `+` and `/`, padded. */
  export const base64: Codec;
  /** Base64 for URLs, with `-` and `_`, not padded. */
  export const base64url: Codec;
  /** Two hexadecimal digits for each byte. */
  export const hex: Codec;

  /** Converts bytes to a string and back. */
  export interface Codec {
    /** Encodes a string (as UTF-8) or bytes. */
    encode(data: string | Uint8Array): string;
    /** Decodes a string to bytes. Throws if it is malformed. Padding is optional. */
    decode(text: string): Uint8Array;
    /** Decodes to a string. Bytes that are not UTF-8 become U+FFFD. */
    decodeText(text: string): string;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Observers
  // Observers read the system under test during the load: its processes, its database, its queues. Their signals use the load's clock, and the report shows
  // them with the load. Findings and thresholds use them.

  /** A reader of the system under test during the load: the result of {@link observe}. */
  export interface Observer {
    readonly [brand]: "observer";
  }

  /**
   * Declares observers. An observer that fails causes a warning and never ends the run.
   *
   * @example
   * observe: [observe.process({ port: 8080 }), observe.postgres("postgres://app@127.0.0.1/shop")]
   */
  export const observe: ObserverBuilder;

  /** Name and interval of an observer. */
  export interface ObserverOptions {
    /** Prefix of its signals' names. Default: the kind, and for a process also its port, pid or name. */
    name?: string;
    /** Time between readings, at least "10ms". Default: "1s". */
    every?: Duration;
  }

  /** Builders of observers. */
  export interface ObserverBuilder {
    /**
     * Local processes and their children: CPU, waiting for a core, memory, threads, descriptors, sockets by state, disk I/O. Found by listening TCP port, by
     * pid, or by the name of their command. They are looked up for each reading, so restarts are followed.
     */
    process(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions): Observer;
    /** This machine: CPU by mode, steal, pressure stall, memory, disks, network. */
    host(options?: ObserverOptions): Observer;
    /** A control group, by its folder under /sys/fs/cgroup or by a process in it: CPU and its limit, throttling, memory, pressure stall. */
    cgroup(which: ({ path: string } | { pid: number }) & ObserverOptions): Observer;
    /**
     * A service on Node, through its inspector: the event loop's utilisation and delay, requests and handles by type, lookups of names and files that wait for
     * Node's own threads, garbage collection, CPU time by function. A closed inspector is opened by SIGUSR1 and closed again after the run, also if Loadstone
     * is killed. `profileHz`: samples per second, 1 to 1000. Default: 99.
     */
    node(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { profileHz?: number }): Observer;
    /**
     * A service on a HotSpot JVM, through the attach mechanism of `jcmd`: threads at work by wait and call, garbage collection, the old generation. Run
     * Loadstone as the service's user or as root. `sampleHz`: samples of all stacks per second, 1 to 20. Default: 4.
     */
    jvm(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A service in Go, through its `net/http/pprof`: goroutines at work by wait and call, and CPU time by function. If the service offers them, also lock
     * holders (a mutex profile) and garbage collection (`expvar`). `sampleHz`: samples per second, 1 to 20. Default: 5.
     */
    go(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A service in Python, through py-spy, on the path or in the directory of the service's Python: threads at work by wait and call, use of the interpreter's
     * lock, CPU time by function. Run Loadstone as root, or with permission to trace the service. `sampleHz`: samples per second, 1 to 10. Default: 2.
     */
    python(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A compiled service (C, C++, Rust, Go, …), through the kernel's samples of its stacks: CPU time by function. The service needs no change; Linux only. Run
     * Loadstone as the service's user or as root. `profileHz`: samples per second of CPU time, 1 to 200. Default: 49.
     */
    native(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { profileHz?: number }): Observer;
    /**
     * PostgreSQL: active sessions by wait event and by statement, blocking sessions, commits, rollbacks, rows, WAL, connections by state, and
     * `pg_stat_statements` if installed. `sampleHz`: samples of the sessions per second, 1 to 50. Default: 10.
     */
    postgres(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * MySQL 8 and MariaDB: active sessions by wait event (the performance schema's, or by their state in the process list) and by statement, blocking sessions,
     * commits and their number per flush, binary log and redo log, rows, connections by state, and statements by digest. `sampleHz` as with `postgres`.
     */
    mysql(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * Redis: `INFO`, the lengths of the named lists and streams with the streams' consumer groups, and queues. Sidekiq's queues are found automatically, those
     * of BullMQ and Celery by name.
     */
    redis(
      url: string,
      options?: ObserverOptions & { lists?: readonly string[]; streams?: readonly string[]; bullmq?: readonly string[]; celery?: readonly string[] },
    ): Observer;
    /**
     * Kafka: messages written to each topic, lag of each consumer group, under-replicated partitions. `brokers`: "host:port", or several separated by commas.
     * `topics` and `groups`: the relevant ones; by default all, up to 64 of each.
     */
    kafka(options: ObserverOptions & { brokers: string; topics?: readonly string[]; groups?: readonly string[] }): Observer;
    /** A Prometheus or OpenMetrics endpoint over HTTP. `only`: names of metrics, with `*` as a wildcard. */
    prometheus(url: string, options?: ObserverOptions & { only?: readonly string[] }): Observer;
    /**
     * Metrics as JSON over HTTP, including Dropwizard's: every number, by its path. `only`: paths, with `*` as a wildcard. `totals`: paths of numbers that only
     * grow.
     */
    json(url: string, options?: ObserverOptions & { only?: readonly string[]; totals?: readonly string[] }): Observer;
    /** Listens for StatsD and DogStatsD packets. Default: "127.0.0.1:8125". */
    statsd(options?: ObserverOptions & { listen?: string }): Observer;
    /**
     * Receives the spans of services with OpenTelemetry, over HTTP and gRPC, and joins them with the load's requests, which then carry a `traceparent`.
     * `listen`: point the services' exporters there. Default: "127.0.0.1:4318". `forward`: another OTLP receiver over HTTP, which gets all data. `link`:
     * address of a trace in your trace store, with `{trace}` for its id. The page links there.
     */
    traces(options?: ObserverOptions & { listen?: string; forward?: string; link?: string }): Observer;
    /** Any PostgreSQL query with one row. Each numeric column becomes a signal. */
    sql(options: ObserverOptions & { url: string; query: string }): Observer;
    /**
     * A query whose rows are the keys of journeys that have recently started, reached a stage or finished. This follows a flow inside the system's own tables.
     * The first column is the key. The optional second column is the age in seconds, by the database's clock. Let the query look back further than the time
     * between readings: a repeated key counts once.
     *
     * @example
     * observe.sql({ url: "postgres://app@127.0.0.1/shop", finish: delivery,
     *   query: "select id, extract(epoch from now() - sent_at) from messages where sent_at > now() - interval '5 s'" })
     */
    sql(
      options: ObserverOptions & { url: string; query: string } & ({ start: Flow } | { stage: readonly [flow: Flow, name: string] } | { finish: Flow }),
    ): Observer;
  }

  /**
   * A run's numbers and conclusions, as in summary.json (docs/summary-json.md). If a test exports a function `summarize`, it receives them at the end of the
   * run. It returns files to write: their names, relative to the folder where Loadstone was started, and their content. `loadstone run` lists them below its
   * summary.
   *
   * @example
   * export function summarize(summary: RunSummary) {
   *   const lines = summary.requests.map((row: any) => `${row.name};${row.count};${row.response.mean}`);
   *   return { "requests.csv": lines.join("\n") };
   * }
   */
  export interface RunSummary {
    readonly [field: string]: any;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Custom metrics
  // Measurements other than requests: values in a custom unit, counts, levels, shares. Declare them at the top level of the file and record them in scenarios.
  // The terminal, the report, summary.json, exports and outputs show them, and thresholds judge them.

  /**
   * Declares metrics. Reports use the name, which must be unique within the test. `unit` is shown with the numbers.
   *
   * @example
   * const value = metric.trend("Order value", { unit: "EUR" });
   * const orders = metric.counter("Orders");
   * const queue = metric.gauge("Queue length");
   * const cached = metric.rate("Served from the cache");
   *
   * const buy = scenario("Buy", async (user) => {
   *   const order = await user.post("/orders", { name: "Order" });
   *   value.add(order.json("$.total"), { tags: { country: "DE" } });
   *   orders.add();
   *   queue.set(order.json("$.queue"));
   *   cached.add(order.header("x-cache") === "hit");
   * });
   *
   * export default test({
   *   target: "http://127.0.0.1:8080",
   *   load: buy.run(arrivals(10).for("1m")),
   *   thresholds: [
   *     value.p95.below(200),
   *     value.where({ tags: { country: "DE" } }).mean.above(20),
   *     orders.rate.atLeast("9/s"),
   *     queue.max.below(50),
   *     cached.rate.above("80%"),
   *   ],
   * });
   */
  export const metric: {
    /** Values with a distribution. */
    trend(name: string, options?: MetricOptions): Trend;
    /** A sum. */
    counter(name: string, options?: MetricOptions): Counter;
    /** A level that rises and falls. */
    gauge(name: string, options?: MetricOptions): Gauge;
    /** The share of true values. */
    rate(name: string, options?: MetricOptions): RateMetric;
  };

  /** Options of a metric. */
  export interface MetricOptions {
    /** Shown with its numbers: `"EUR"`, `"items"`. Default: none. */
    unit?: string;
  }

  /**
   * Tags split measurements of one name into parts: at most eight names with a value each. Reports and thresholds have the parts and the whole. Use tags with
   * few values, and no ids: `seriesMax` limits the number of different sets of tags. A run that exceeds it reports that.
   */
  export type Tags = Readonly<Record<string, string | number | boolean>>;

  /** Options of a recorded value, check or group. */
  export interface RecordOptions {
    /** It counts under its name, and in the part with these tags. A group's tags do not apply to its requests. */
    tags?: Tags;
  }

  /** Selects a part of a metric. */
  export interface MetricSelection {
    /** Values with at least these tags. */
    tags: Tags;
  }

  /** Values and their distribution, to 0.4 %. Sum, minimum and maximum are exact. Bounds of thresholds are in the metric's unit. */
  export interface Trend extends ValueMetric {
    /** Records a value: any finite number. */
    add(value: number, options?: RecordOptions): void;
    /** Number of recorded values. */
    readonly count: Bounds<number>;
    /** A part, for thresholds. */
    where(selection: MetricSelection): Trend;
  }

  /** A sum. */
  export interface Counter {
    /** Adds 1, or a number of at least 0. */
    add(value?: number, options?: RecordOptions): void;
    /** The sum. */
    readonly sum: Bounds<number>;
    /** The increase per second. */
    readonly rate: Bounds<Rate>;
    /** A part, for thresholds. */
    where(selection: MetricSelection): Counter;
  }

  /** A level. */
  export interface Gauge extends LevelMetric {
    /** Sets the current level. */
    set(value: number, options?: RecordOptions): void;
    /** A part, for thresholds. */
    where(selection: MetricSelection): Gauge;
  }

  /** The share of true values. */
  export interface RateMetric {
    /** Records a value. */
    add(isSo: boolean, options?: RecordOptions): void;
    /** Number of true values. */
    readonly count: Bounds<number>;
    /** Share of true values. */
    readonly rate: Bounds<Share>;
    /** A part, for thresholds. */
    where(selection: MetricSelection): RateMetric;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Thresholds
  // Objectives: a metric, an aggregate and a bound. They cover the whole run unless `over` or `after` restricts them. A threshold without measurements fails. A
  // run whose script threw an error fails unless {@link scriptErrors} allows it.

  /**
   * The measurements that count: all, those of one request or group by name, or a combination.
   *
   * @example
   * responseTime()                                        // every request
   * responseTime("Create ticket")                         // requests of that name
   * responseTime({ scenario: "Buy", group: "Check out" }) // requests inside that group of that scenario
   * responseTime({ name: "Search", tags: { type: "static" } }) // requests of that name which carry at least that tag
   */
  export type Selection = string | { name?: string; scenario?: string; group?: string; tags?: Tags };

  /** Time from when a request was due (open load) or started to its last byte: the headline number. */
  export function responseTime(of?: Selection): TimeMetric;
  /** Time from a request's start to its last byte. */
  export function serviceTime(of?: Selection): TimeMetric;
  /** Delay of a request's start: the generator's own delay and the wait for a free user. */
  export function scheduleLag(of?: Selection): TimeMetric;
  /** Time of a group, without declared pauses. */
  export function groupTime(name: string): TimeMetric;
  /** Time of whole iterations, of one scenario or all. In open load it counts from when an iteration was due. */
  export function iterationDuration(of?: string | { scenario?: string }): TimeMetric;
  /** Ended requests: their count, and their rate per second. */
  export function requests(of?: Selection): CountMetric<number, Rate>;
  /** Failed requests: their count, and as `rate` their share of all. */
  export function failures(of?: Selection): CountMetric<number, Share>;
  /** The earlier name of {@link iterations} for thresholds. */
  export function iterationCount(of?: string | { scenario?: string }): IterationMetric;
  /**
   * Errors that iterations threw and nothing caught, of one scenario or all. They have a count, and a `rate` relative to the ended iterations. An error after a
   * failed request of the iteration is a consequence and does not count. A test without a threshold on them has `scriptErrors().count.equals(0)`. With one,
   * that threshold sets the limit.
   *
   * @example
   * scriptErrors().rate.below("1%")
   */
  export function scriptErrors(of?: string | { scenario?: string }): CountMetric<number, Share>;
  /**
   * Checks, of one name or all: their count, and the passed and failed parts.
   *
   * @example
   * checks().failed.count.equals(0)
   * checks("a ticket came").passed.rate.atLeast("99%")
   */
  export function checks(of?: Selection): CheckMetric;

  /**
   * A signal of an observer, by its full name in the report. A counter (CPU time, commits) counts by its growth per second. An unseen label is 0 if the
   * observer saw other labels of the metric.
   *
   * @example
   * signal("process:8080/cpu").mean.below(0.8)
   * signal("postgres/sessions{wait=Lock:tuple}").max.below(5)
   */
  export function signal(name: string): SignalMetric;

  /** Aggregates of measured times. */
  export interface TimeMetric {
    /** The arithmetic mean. */
    readonly mean: Bounds<Duration>;
    /** The shortest. */
    readonly min: Bounds<Duration>;
    /** The longest. */
    readonly max: Bounds<Duration>;
    /** The median: half were faster. */
    readonly p50: Bounds<Duration>;
    /** 75 % were faster. */
    readonly p75: Bounds<Duration>;
    /** 90 % were faster. */
    readonly p90: Bounds<Duration>;
    /** 95 % were faster. */
    readonly p95: Bounds<Duration>;
    /** 99 % were faster. */
    readonly p99: Bounds<Duration>;
    /** 99.9 %. */
    readonly p999: Bounds<Duration>;
    /** Any percentile: above 0 and below 100. */
    percentile(percent: number): Bounds<Duration>;
  }

  /** Aggregates of counts. */
  export interface CountMetric<Count, Relative> {
    /** The number. */
    readonly count: Bounds<Count>;
    /** Per second, or as a share. */
    readonly rate: Bounds<Relative>;
  }

  /** Aggregates of iterations. */
  export interface IterationMetric extends CountMetric<number, Rate> {
    /** Failed iterations (a script error, or a failed request): their count, and as `rate` their share. */
    readonly failed: CountMetric<number, Share>;
  }

  /** Aggregates of checks. */
  export interface CheckMetric {
    /** Number of checks. */
    readonly count: Bounds<number>;
    /** Passed checks: their count, and as `rate` their share. */
    readonly passed: CountMetric<number, Share>;
    /** Failed checks: their count, and as `rate` their share. */
    readonly failed: CountMetric<number, Share>;
  }

  /** Aggregates of a level. */
  export interface LevelMetric {
    /** The mean of all readings. */
    readonly mean: Bounds<number>;
    /** The lowest reading. */
    readonly min: Bounds<number>;
    /** The highest reading. */
    readonly max: Bounds<number>;
    /** The last reading. */
    readonly last: Bounds<number>;
  }

  /** Aggregates of a distribution. */
  export interface ValueMetric {
    /** The arithmetic mean. */
    readonly mean: Bounds<number>;
    /** The lowest. */
    readonly min: Bounds<number>;
    /** The highest. */
    readonly max: Bounds<number>;
    /** The median: half were lower. */
    readonly p50: Bounds<number>;
    /** 75 % were lower. */
    readonly p75: Bounds<number>;
    /** 90 % were lower. */
    readonly p90: Bounds<number>;
    /** 95 % were lower. */
    readonly p95: Bounds<number>;
    /** 99 % were lower. */
    readonly p99: Bounds<number>;
    /** 99.9 %. */
    readonly p999: Bounds<number>;
    /** Any percentile: above 0 and below 100. */
    percentile(percent: number): Bounds<number>;
  }

  /** Aggregates of a signal: of its readings, or of a counter's growth per second between two readings. Bounds are in its unit. */
  export interface SignalMetric extends ValueMetric {
    /** The last reading. */
    readonly last: Bounds<number>;
  }

  /** Bounds on a value. */
  export interface Bounds<T> {
    /** Less than. */
    below(bound: T): Threshold;
    /** Less than or equal to. */
    atMost(bound: T): Threshold;
    /** Greater than. */
    above(bound: T): Threshold;
    /** Greater than or equal to. */
    atLeast(bound: T): Threshold;
    /** Exactly. */
    equals(bound: T): Threshold;
  }

  /** An objective. */
  export interface Threshold {
    readonly [brand]: "threshold";
    /** Judges consecutive windows of this length, each of which must pass, instead of the whole run. Whole seconds. */
    over(window: Duration): Threshold;
    /** Excludes the first part of the run: warm-up. Whole seconds. */
    after(warmUp: Duration): Threshold;
    /** Stops the run as soon as the threshold certainly fails. */
    abortEarly(): Threshold;
  }

  // Without `export`, a declaration is private.
  export {};
}

// ─────────────────────────────────────────────────────────────────────────────
// # Globals
// Globals of every script. Standard JavaScript (ES2023) is also available, as are `performance.now()` and pure JavaScript modules from node_modules.
//
// Calls can be nested until their stack of 768 KiB is full. The next call throws `RangeError: Maximum call stack size exceeded`, which fails the iteration.
// The depth depends on the functions. On x86-64, a small function called itself about 1,200 times, an async function 540 times, and a callback of `map` 320
// times; on arm64, the small function did so 780 times. For deeper data, use a loop with a list of open items.

/** Writes lines to the terminal and to the run's log. Objects are written on one line. */
interface Console {
  /** Writes a line. */
  log(...values: unknown[]): void;
  /** Writes a line. */
  info(...values: unknown[]): void;
  /** Writes a debug line. */
  debug(...values: unknown[]): void;
  /** Writes a warning. */
  warn(...values: unknown[]): void;
  /** Writes an error. */
  error(...values: unknown[]): void;
}
declare var console: Console;

/** Runs a function once, after a number of milliseconds, at most 2,147,483,647 (24.8 days). */
declare function setTimeout<A extends unknown[]>(run: (...values: A) => void, milliseconds?: number, ...values: A): number;
/** Runs a function repeatedly at an interval in milliseconds, until it is cleared or the run ends. */
declare function setInterval<A extends unknown[]>(run: (...values: A) => void, milliseconds?: number, ...values: A): number;
/** Cancels a {@link setTimeout}. */
declare function clearTimeout(timer: number | undefined): void;
/** Cancels a {@link setInterval}. */
declare function clearInterval(timer: number | undefined): void;
/** Runs a function directly after the current one. */
declare function queueMicrotask(run: () => void): void;
/** A deep copy of plain objects, lists, maps, sets, dates, errors, regular expressions and bytes. Functions throw. */
declare function structuredClone<T>(value: T): T;
/** Encodes a Latin-1 string as base64. For bytes and other strings use `base64` of "loadstone". */
declare function btoa(text: string): string;
/** Decodes base64 to a Latin-1 string. */
declare function atob(base64: string): string;

/**
 * Random values in the shape of the Web's `crypto`, but from the run's seed: they repeat and are not secret. For hashes use `hash` and `hmac` of "loadstone".
 */
interface Crypto {
  /** A random UUID (version 4). */
  randomUUID(): string;
  /** Fills an array with random values and returns it. */
  getRandomValues<T extends Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array>(array: T): T;
}
declare var crypto: Crypto;

/** Milliseconds since the start of the script engine, with fractions. */
declare var performance: { now(): number };

/** Encodes strings as UTF-8. */
declare class TextEncoder {
  /** Always `"utf-8"`. */
  readonly encoding: string;
  /** The UTF-8 bytes of a string. */
  encode(text?: string): Uint8Array;
}

/** Decodes UTF-8. Other encodings are not available. */
declare class TextDecoder {
  /** A UTF-8 decoder. `fatal` throws on invalid bytes; `ignoreBOM` keeps a byte order mark. */
  constructor(encoding?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  /** Always `"utf-8"`. */
  readonly encoding: string;
  /** Whether invalid bytes throw. */
  readonly fatal: boolean;
  /** Whether a byte order mark is preserved. */
  readonly ignoreBOM: boolean;
  /** The string of these bytes. */
  decode(bytes?: Uint8Array | ArrayBuffer): string;
}

/** A URL and its parts, as the WHATWG standard defines them. */
declare class URL {
  /** Parses a URL, relative to `base` if given. Throws if it is invalid. */
  constructor(url: string | URL, base?: string | URL);
  /** Whether `new URL(…)` would succeed. */
  static canParse(url: string | URL, base?: string | URL): boolean;
  /** The URL, or `null` if it is invalid. */
  static parse(url: string | URL, base?: string | URL): URL | null;
  /** The whole URL. */
  href: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Scheme, with its colon: `"https:"`. */
  protocol: string;
  /** User name, percent-encoded. */
  username: string;
  /** Password, percent-encoded. */
  password: string;
  /** Host name, and the port unless it is the default. */
  host: string;
  /** Host name without the port. */
  hostname: string;
  /** Port; empty for the default port. */
  port: string;
  /** Path, beginning with `/`. */
  pathname: string;
  /** Query with its `?`; empty if there is none. */
  search: string;
  /** The query as names and values; changing it changes the URL. */
  readonly searchParams: URLSearchParams;
  /** Fragment with its `#`; empty if there is none. */
  hash: string;
  /** The whole URL. */
  toString(): string;
  /** The whole URL. */
  toJSON(): string;
}

/** The query of a URL, as the WHATWG standard defines it. */
declare class URLSearchParams implements Iterable<[string, string]> {
  /** Parses a query string, an object of names and values, or pairs. */
  constructor(init?: string | Readonly<Record<string, string>> | Iterable<readonly [string, string]> | URLSearchParams);
  /** Number of pairs. */
  readonly size: number;
  /** Adds a pair. */
  append(name: string, value: string): void;
  /** Removes all pairs of a name, or those with this value. */
  delete(name: string, value?: string): void;
  /** The first value of a name; `null` if there is none. */
  get(name: string): string | null;
  /** All values of a name. */
  getAll(name: string): string[];
  /** Whether a pair has this name, and this value if given. */
  has(name: string, value?: string): boolean;
  /** Replaces all pairs of a name by one. */
  set(name: string, value: string): void;
  /** Sorts the pairs by name. */
  sort(): void;
  /** Calls a function for each pair. */
  forEach(visit: (value: string, name: string, all: URLSearchParams) => void): void;
  /** The names, one per pair. */
  keys(): IterableIterator<string>;
  /** The values, one per pair. */
  values(): IterableIterator<string>;
  /** The pairs. */
  entries(): IterableIterator<[string, string]>;
  /** The pairs. */
  [Symbol.iterator](): IterableIterator<[string, string]>;
  /** The query as a string, without `?`. */
  toString(): string;
}
