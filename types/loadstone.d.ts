// Types of the Loadstone script API. `loadstone init` writes this file beside your tests, so that an editor completes
// and checks them. docs/script.md is generated from the comments below: `cargo xtask gen`.
//
// Deliberately absent: `fetch` and an ambient "current user" (several users share one JavaScript realm, so every
// request is made through the `user` that a scenario is given), Node's built-in modules, and the browser's DOM.

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
   * Keeps apart types that look alike; not for scripts.
   *
   * @unreleased
   */
  const brand: unique symbol;

  /** What {@link test} returns: hand it to `export default`, and to nothing else. */
  export interface Test {
    readonly [brand]: "test";
  }

  /** The parts of a test. Only `load` is required. */
  export interface TestDefinition {
    /** Name shown in reports and used for the run's folder. Default: the file's name without `.load.ts`. */
    name?: string;
    /**
     * Base URL that relative request paths are resolved against; `"unix:/run/app.sock"` for a Unix socket, which then stands for every host. Default: none, and
     * every request needs a full URL.
     */
    target?: string;
    /** What runs when: one `scenario.run(…)`, a list (all at the same time), or a {@link sequence}; nest freely. */
    load: Load;
    /** Objectives of the run. When one does not hold, `loadstone run` ends with the exit code "thresholds failed". Default: none. */
    thresholds?: readonly Threshold[];
    /** Sources of the system's own signals, read on the load's clock: see {@link observe}. Default: none. */
    observe?: readonly Observer[];
    /** Headers sent with every request of every scenario. A scenario's and a request's own headers win. */
    headers?: Headers;
    /** Credentials sent with every request to the target's origin. A scenario's and a request's own win. */
    auth?: Auth;
    /** Limits and switches for the whole run. */
    options?: TestOptions;
  }

  /** Limits and switches for the whole run. */
  export interface TestOptions {
    /** Seed of every random draw: the same seed and test repeat the same draws. Default: 1. */
    seed?: number;
    /** Time limit of one request, from its start to the last byte of the response. Default: "30s". */
    requestTimeout?: Duration;
    /** How long running iterations may go on after their load has ended; then they are interrupted and counted as such. Default: "30s". */
    gracefulStop?: Duration;
    /**
     * Most series (request names, groups, checks) kept apart; further names are counted together as `(other)`. As many parts by tags are kept apart,
     * too; further ones are in the whole only. Default: 500.
     */
    seriesMax?: number;
    /** Largest response body. A larger one fails the request. Bytes. Default: 67,108,864 (64 MiB). */
    bodyBytesMax?: number;
    /** Most redirects followed for one request; 0 follows none. Default: 10. */
    redirects?: number;
    /** Whether a user keeps its connections open between requests and iterations. Default: true. */
    keepAlive?: boolean;
    /**
     * Most connections of one user to one origin. Over HTTP/1.1, further parallel requests wait, as the phase `queue` of their time. Over HTTP/2 and in gRPC,
     * many requests share each connection: a request goes over the one with the fewest under way, and another connection is opened only where each has some.
     * Default: 6 over HTTP/1.1, 1 over HTTP/2 and in gRPC.
     */
    connectionsPerUser?: number;
    /**
     * Whether a request is sent once more that met the close of an idle connection: the server had closed the connection before a byte of the
     * request reached its machine. Methods that are not idempotent (POST, PATCH) are only sent again where not even the first byte had left. What
     * was sent again is counted, and the first attempt is part of the time. `false`: such a request has failed. Default: true.
     */
    retryIdleClose?: boolean;
    /** Accept any TLS certificate. Only for targets whose certificate you do not care about. Default: false. */
    insecure?: boolean;
    /** PEM files of further certificate authorities to trust, relative to the test file. */
    roots?: readonly string[];
    /** PEM files of a client certificate chain and its key, relative to the test file. */
    clientCertificate?: { certificate: string; key: string };
    /** Name that TLS asks for (SNI) and that certificates must carry, in place of each URL's host: for a target reached by address. Default: the host. */
    serverName?: string;
    /**
     * Whether TLS connections resume the session of an earlier one to the same host, which saves the server most of a handshake. Users of one core
     * share their sessions. `false`: every connection makes a full handshake, as first visits do. Default: true.
     */
    tlsResumption?: boolean;
    /**
     * Local addresses to connect from, taken in turn: single ones, ranges (`"127.0.0.1-127.0.0.20"`) and blocks (`"10.0.0.0/28"`). Needed beyond
     * some 28,000 connections to one address.
     */
    sources?: readonly string[];
    /**
     * Name servers to ask instead of this machine's, such as `"10.0.0.53"` or `"127.0.0.1:5353"`. Answers are used for as long as their TTL says,
     * all addresses of a name in turn; a look-up is part of the request that needed it, as the phase `dns`.
     */
    nameServers?: readonly string[];
    /**
     * `"auto"`: HTTP/2 where TLS agrees on it (ALPN), else HTTP/1.1; `"only"`: HTTP/2 always, also without TLS. All requests of a user to one
     * origin then share one connection. WebSockets and streams of events stay on HTTP/1.1. Default: "off".
     */
    http2?: "off" | "auto" | "only";
    /**
     * URL of an HTTP proxy, `http://user:password@host:port`: plain requests are forwarded by it, TLS and WebSockets go through its tunnels. The
     * environment's proxy is never used.
     */
    proxy?: string;
    /**
     * Most new connections per second, of all cores together, evenly spaced: a ramp without a storm. A request that needs a connection begins when
     * it may open one, so the wait is in no service time; in open load it counts in the response time of an iteration's first request, as every
     * wait of an arrival does. Default: no limit.
     */
    connectionsPerSecond?: Rate;
    /**
     * Send a W3C `traceparent` header with every request and WebSocket handshake. The slowest and the failed requests then show their trace id. A
     * `traceparent` among a request's own headers wins. Default: false.
     */
    traceparent?: boolean;
    /**
     * Ask gRPC servers, by server reflection, for services that no {@link proto} declares. Each core asks once for each service, when a user first calls
     * it; that is no part of the call's time. Default: false.
     */
    grpcReflection?: boolean;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Scenarios
  // A scenario is what one virtual user does, as an ordinary async function.

  /**
   * Declares what one virtual user does in one iteration. The name is how reports and thresholds call it, and is unique within the test.
   *
   * An iteration fails when the function throws or when one of its requests failed. A failed iteration is counted with
   * its error; the run goes on. Await every request: one that is still under way when the function returns is finished first, and the
   * run warns of it.
   *
   * @example
   * const browse = scenario("Browse", async (user) => {
   *   await user.get("/products", { name: "List products" });
   *   await user.pause("uniform(1s, 3s)");
   *   await user.get("/products/1", { name: "Show product" });
   * });
   */
  export function scenario(name: string, iterate: (user: User) => Promise<unknown> | unknown, options?: ScenarioOptions): Scenario;

  /** What holds for every user of one scenario. */
  export interface ScenarioOptions {
    /** Base URL for this scenario's relative paths. Default: the test's `target`. */
    target?: string;
    /** Headers sent with every request of this scenario. */
    headers?: Headers;
    /** Credentials sent with every request to the scenario's target. */
    auth?: Auth;
    /** Time limit of one request. Default: the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Every iteration begins as a new visitor on new connections. Default: false: connections stay open. Cookies and `state` are kept
     * in closed load, where the same user repeats; in open load every arrival is a new visitor and begins without them.
     */
    fresh?: boolean;
    /**
     * What each user does once, before its first iteration: log in, say. Closed load only. A user of which anything fails here makes no iterations.
     * What it keeps in `user.state` is there for the iterations.
     */
    onStart?: (user: User) => Promise<unknown> | unknown;
    /** What each user does once, after its last iteration. Closed load only. It has the time that iterations have to end (`gracefulStop`). */
    onEnd?: (user: User) => Promise<unknown> | unknown;
    /** Whether requests and groups of `onStart` and `onEnd` are measured like any others. Default: false, only their errors are told. */
    measureStartAndEnd?: boolean;
  }

  /** A declared scenario; give it load with `run`. One scenario may run several times, with different load. */
  export interface Scenario {
    /** As reports and thresholds call it. */
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
   * Declares what runs once, before all load. Its result is there for all users, as JSON: the value that it returns is written and read back. Requests
   * in it are not measured. When anything in it fails (an error that it throws, or a request), the run ends before its load, with exit code 7. It may
   * take ten minutes. A test has one.
   *
   * @example
   * const session = setup(async (user) => {
   *   const login = await user.post("/login", { json: { name: "load" } });
   *   return { token: login.json("$.token") as string };
   * });
   * const browse = scenario("Browse", (user) => user.get("/orders", { auth: { bearer: session.value.token } }));
   */
  export function setup<T>(prepare: (user: User) => Promise<T> | T, options?: AroundOptions): SetUp<T>;

  /** What a set-up has left for all users. */
  export interface SetUp<T> {
    /** What it returned, frozen. Read it inside scenarios and in the tear-down; it throws where the set-up has failed. */
    readonly value: T;
  }

  /**
   * Declares what runs once, after all else, however the run came to its end: also after Ctrl-C, a threshold that stopped the run, or a set-up that
   * failed. Requests in it are not measured. It may take ten minutes. A test has one.
   *
   * @example
   * teardown((user) => user.delete("/test-data"));
   */
  export function teardown(cleanUp: (user: User) => Promise<unknown> | unknown, options?: AroundOptions): void;

  /** What holds for the user of a set-up or tear-down. */
  export interface AroundOptions {
    /** Base URL for its relative paths. Default: the test's `target`. */
    target?: string;
    /** Headers sent with every request of it. */
    headers?: Headers;
    /** Credentials sent with every request to its target. */
    auth?: Auth;
    /** Time limit of one request. Default: the test's `requestTimeout`. */
    timeout?: Duration;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Load
  // *Open* profiles (`arrivals`, `once`, `atOnce`) start iterations at given moments, whatever the target does: response
  // times count from the moment an iteration was due, so a stalled target shows in full. *Closed* profiles (`users`,
  // `iterations`) keep a number of users looping: each starts its next iteration when the last one has ended.

  /** Something that can be run: a scenario under a load profile, a sequence, or a list whose members run at the same time. */
  export type Load = LoadPart | readonly Load[];

  /** A node of the load tree, made by `scenario.run(…)`, {@link sequence} or {@link parallel}. */
  export interface LoadPart {
    readonly [brand]: "load";
  }

  /** How much load: made by {@link arrivals}, {@link users}, {@link once}, {@link atOnce} or {@link iterations}. */
  export type LoadProfile = OpenProfile | ClosedProfile | IterationsProfile;

  /**
   * Runs its parts one after another. A part begins when the one before has ended, its last iterations included.
   *
   * @example
   * load: sequence(setUp.run(once()), [buy.run(arrivals(4).for("1m")), browse.run(users(50).for("1m"))], tearDown.run(once()))
   */
  export function sequence(...parts: readonly Load[]): Load;

  /** Runs its parts at the same time; the same as writing them as a list. */
  export function parallel(...parts: readonly Load[]): Load;

  /**
   * Arrivals at a constant rate, evenly spaced: an open profile. A number is per second; `"90/m"` and `"3600/h"` work too.
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
    /** The rate moves from one value to another in a straight line. */
    ramp(from: Rate, to: Rate): OpenStage;
    /**
     * One rate after another, each held equally long: a stair to find where the system gives in.
     *
     * @example
     * arrivals.steps([50, 100, 200, 400]).each("1m")
     * arrivals.steps({ from: 100, to: 1000, by: 100 }).for("10m")
     */
    steps(levels: readonly Rate[] | StepRange): OpenSteps;
    /**
     * A base rate with one peak in the middle of its time. `hold`: how long the peak lasts, default "10s"; `rise`: how long the way up and down take,
     * default "0s".
     */
    spike(base: Rate, peak: Rate, shape?: { hold?: Duration; rise?: Duration }): OpenStage;
  }

  /** An open profile that still needs its duration. */
  export interface OpenStage {
    /** How long the stage lasts. */
    for(duration: Duration): OpenProfile;
    /** Random (Poisson) spacing instead of even: how independent people arrive. The draws come from the run's seed. */
    poisson(): OpenStage;
  }

  /** A stair of rates that still needs its duration. */
  export interface OpenSteps {
    /** How long the whole stair lasts; every step takes an equal share. */
    for(duration: Duration): OpenProfile;
    /** How long each step lasts. */
    each(duration: Duration): OpenProfile;
    /** Random (Poisson) spacing instead of even. */
    poisson(): OpenSteps;
  }

  /** A complete open profile. */
  export interface OpenProfile {
    readonly [brand]: "open";
    /** Adds a further stage, which begins when this profile ends. */
    then(next: OpenProfile): OpenProfile;
    /** Most users active at once. Arrivals beyond it wait: their wait counts in their response time and is reported; none is dropped. Default: 50,000. */
    maxUsers(count: number): OpenProfile;
    /** How long iterations may go on after this profile has ended. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): OpenProfile;
    /** Begins so long after its turn has come: later than what runs beside it. */
    startAfter(delay: Duration): OpenProfile;
  }

  /** One arrival, now: for set-up and tear-down. */
  export function once(): OpenProfile;

  /** A number of arrivals, all at the same instant. */
  export function atOnce(count: number): OpenProfile;

  /**
   * A constant number of users, each repeating the scenario: a closed profile.
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
    /** The number of users moves from one value to another in a straight line. Users beyond a falling number end after their iteration. */
    ramp(from: number, to: number): ClosedStage;
    /**
     * One number of users after another, each held equally long.
     *
     * @example
     * users.steps({ from: 100, to: 1000, by: 100 }).each("2m")
     */
    steps(levels: readonly number[] | StepRange): ClosedSteps;
  }

  /** A closed profile that still needs its duration. */
  export interface ClosedStage {
    /** How long the stage lasts. */
    for(duration: Duration): ClosedProfile;
  }

  /** A stair of users that still needs its duration. */
  export interface ClosedSteps {
    /** How long the whole stair lasts; every step takes an equal share. */
    for(duration: Duration): ClosedProfile;
    /** How long each step lasts. */
    each(duration: Duration): ClosedProfile;
  }

  /** A complete closed profile. */
  export interface ClosedProfile {
    readonly [brand]: "closed";
    /** Adds a further stage, which begins when this profile ends. */
    then(next: ClosedProfile): ClosedProfile;
    /** How long iterations may go on after this profile has ended. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): ClosedProfile;
    /** Begins so long after its turn has come: later than what runs beside it. */
    startAfter(delay: Duration): ClosedProfile;
  }

  /**
   * A fixed number of iterations, as fast as they go. By default one user runs them.
   *
   * Without a number, for thresholds: the iterations that ended, of one scenario or all. See {@link IterationMetric}.
   *
   * @example
   * iterations(1000).users(20)                  // 1000 in all, taken by whichever user is free
   * iterations(10).users(20).perUser()          // 10 by each of 20 users
   * iterations(1000).users(20).for("10m")       // the same, but for ten minutes at most
   * iterations("Buy").failed.rate.below("1%")   // a threshold
   */
  export function iterations(count: number): IterationsProfile;
  export function iterations(of?: string | { scenario?: string }): IterationMetric;

  /** A profile that is bounded by a count. */
  export interface IterationsProfile {
    readonly [brand]: "iterations";
    /** How many users share the work. Default: 1. */
    users(count: number): IterationsProfile;
    /** Every user runs the whole count, instead of all sharing it. */
    perUser(): IterationsProfile;
    /** Longest time it may take. Default: no limit. */
    for(duration: Duration): IterationsProfile;
    /** How long iterations may go on after the time limit. Default: the test's `gracefulStop`. */
    gracefulStop(duration: Duration): IterationsProfile;
    /** Begins so long after its turn has come: later than what runs beside it. */
    startAfter(delay: Duration): IterationsProfile;
  }

  /** Equal steps from one level to another, both included. */
  export interface StepRange {
    /** First level. */
    from: number;
    /** Last level. */
    to: number;
    /** Height of one step. The last step may be lower, to end at `to`. */
    by: number;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Values

  /** Units of a {@link Duration}: `ns`, `us`, `ms`, `s`, `m`, `h`, `d`. */
  export type DurationUnit = "ns" | "us" | "µs" | "ms" | "s" | "m" | "min" | "h" | "d";

  /**
   * A length of time as text: `"500ms"`, `"30s"`, `"1m30s"`, `"2h"`. Plain numbers are not taken: their unit would be a guess.
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
   * A fixed delay or a distribution of delays: `"100ms"`, `"uniform(1s, 3s)"`, `"loguniform(100ms, 2s)"`, `"normal(1s, 200ms)"` (mean,
   * standard deviation; never below zero), `"lognormal(1s, 200ms)"` (mean and standard deviation of the delay itself), `"exponential(1s)"` (mean).
   */
  export type Delay =
    | Duration
    | `uniform(${string},${string})`
    | `loguniform(${string},${string})`
    | `normal(${string},${string})`
    | `lognormal(${string},${string})`
    | `exponential(${string})`;

  /** A rate: a number is per second; `"360/s"`, `"90/m"`, `"5000/h"` name their unit. */
  export type Rate = number | `${number}/${"s" | "m" | "min" | "h"}`;

  /** A share: 0.01 or `"1%"`. */
  export type Share = number | `${number}%`;

  /**
   * A duration as a number of milliseconds, for calculations.
   *
   * @example
   * milliseconds("1m30s")   // 90000
   */
  export function milliseconds(duration: Duration): number;

  /** Header lines by name. */
  export type Headers = Readonly<Record<string, string>>;

  /** Credentials: HTTP basic authentication, or a bearer token. */
  export type Auth = { username: string; password: string } | { bearer: string };

  // ───────────────────────────────────────────────────────────────────────────
  // # Parameters
  // What a person may change without editing the file. A value comes from, later wins: the default, the environment
  // (`LOADSTONE_` and the name in capitals: `usersPerSecond` → `LOADSTONE_USERS_PER_SECOND`), the command line (`-p usersPerSecond=10`).

  /**
   * Declares parameters. Each call returns the resolved value. Call it at the top level of the file, once per name.
   *
   * @example
   * const rate = param.number("rate", { default: 4, min: 0, help: "new travellers per second" });
   * const token = param.string("token", { secret: true });            // no default: it must be given
   */
  export const param: ParameterBuilder;

  /** Builders of parameters, one for each kind. A wrong or missing value stops the start with a message that names the parameter. */
  export interface ParameterBuilder {
    /** A number, within `min` and `max` where given. */
    number(name: string, options?: ParameterOptions<number> & { min?: number; max?: number }): number;
    /** Any text. */
    string(name: string, options?: ParameterOptions<string>): string;
    /** `true` or `false` (also `yes`, `no`, `1`, `0`, `on`, `off`). */
    boolean(name: string, options?: ParameterOptions<boolean>): boolean;
    /** A length of time, such as `90s`. */
    duration(name: string, options?: ParameterOptions<Duration>): Duration;
    /** A full URL of whatever a test can speak to, such as `https://…`, `wss://…`, `redis://…`, `postgres://…`. A password in it is masked everywhere. */
    url(name: string, options?: ParameterOptions<string>): string;
    /** One of the given options. */
    choice<const T extends string>(name: string, options: readonly T[], more?: ParameterOptions<NoInfer<T>>): T;
    /** A fixed delay or a distribution, such as `loguniform(100ms, 2s)`. */
    delay(name: string, options?: ParameterOptions<Delay>): Delay;
  }

  /** What every parameter may say about itself. */
  export interface ParameterOptions<T> {
    /** Value when none is given. Without a default, the parameter must be given. */
    default?: T;
    /** One line for `loadstone inspect` and forms. */
    help?: string;
    /** Show `•••` instead of the value in every output and file, wherever the script puts it (docs/run-directory.md, Secrets). Default: false. */
    secret?: boolean;
  }

  /**
   * Hides a text that the script learns while it runs, such as the token in a login's answer: from this call on, no output and no file
   * shows it (docs/run-directory.md, Secrets). Returns the text. Call it before the text is put anywhere else; a stub's function may, too.
   *
   * @example
   * const login = await user.post("/login", { json: { name: "ann" } });
   * const token = secret(login.json("$.token"));
   */
  export function secret<T extends string>(value: T): T;

  // ───────────────────────────────────────────────────────────────────────────
  // # The user
  // A failing target never throws. A request that was refused, timed out, got a status of 400 or more, or missed its
  // `expect` is recorded as failed and still returns a response, whose `ok` is false. What throws is a mistake of the
  // script, and taking a value out of a response that does not hold it: that ends the iteration as failed, with a message that says what was missing.

  /** One virtual user: what it does goes through this object. */
  export interface User {
    /** Number of this user within its load part, from 0, and no other's on any core. A fixed number of users is numbered without gaps. */
    readonly number: number;
    /**
     * Number of this iteration within its load part: 0, 1, 2, …, over all cores, none twice and none left out. In open load it is the arrival's: one that never
     * starts, since the load was stopped, leaves its number unused.
     */
    readonly iteration: number;
    /** Name of the scenario. */
    readonly scenario: string;
    /** This user's cookies: kept from responses and sent by themselves. */
    readonly cookies: Cookies;
    /**
     * Random draws that repeat with the run's seed, whatever other users do and on any number of cores. In open load each arrival has its own, in closed load
     * each user's first, second, … iteration.
     */
    readonly random: Random;
    /**
     * Anything the user should remember for its next iterations, such as a token. In open load every arrival begins with an empty one; see
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
    /** Sends a request with any method. */
    request(method: string, url: string, options?: BodyRequestOptions): Promise<Response>;
    /**
     * Opens a WebSocket. Like a request the handshake is measured under its name, and never throws: a socket that could not be opened has
     * `open` false.
     *
     * @example
     * const socket = await user.ws("/validate", { name: "Connect" });
     * await socket.send("init");
     * const answer = await socket.request("tap 7", { name: "Tap", match: /^tap-response/m, within: "500ms" });
     */
    ws(url: string, options?: SocketOptions): Promise<Socket>;

    /**
     * Opens a stream of server-sent events. Like a request its opening is measured under its name, and never throws. The time from there to the
     * first event is measured as `NAME first event`.
     *
     * @example
     * const prices = await user.events("/prices", { name: "Prices" });
     * const first = await prices.receive({ name: "Price of 7", match: (event) => event.json("$.product") === 7, within: "5s" });
     */
    events(url: string, options?: EventsOptions): Promise<Events>;

    /**
     * Calls a gRPC method with one message and waits for one. The method is named `package.Service/Method`, as a file given to {@link proto}
     * declares it. Measured under its name, and never throws for what the server does: a status other than OK makes the call failed.
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
     * Begins a gRPC call that streams: from the server, from the client, or both ways. A message given here is the first that is sent; where only
     * the server streams, it is the only one.
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
     * Connects to a host and a port, with nothing but TCP, or TLS over it. Like a request connecting is measured under its name, and never
     * throws: a connection that could not be opened has `open` false.
     *
     * @example
     * const mail = await user.tcp("127.0.0.1:25", { name: "Connect" });
     * await mail.read({ until: "\r\n", name: "Greeting" });
     * const answer = await mail.request("EHLO client.test\r\n", { until: "\r\n", name: "EHLO" });
     */
    tcp(address: string, options?: TcpOptions): Promise<TcpConnection>;

    /**
     * Opens a UDP socket to `host:port`. Nothing is sent, and nothing measured; a socket that could not be opened has `open` false.
     *
     * @example
     * const meter = await user.udp("127.0.0.1:7000", { name: "Meter" });
     * const answer = await meter.request("read 7", { name: "Read", match: /^7 /, within: "500ms" });
     * user.check("it has a value", answer.ok);
     */
    udp(address: string, options?: UdpOptions): Promise<UdpSocket>;
    /**
     * Names a Redis server: `redis://user:password@host:port/database`, or `rediss://` for TLS. The user's first command connects; all further
     * ones share the connection.
     *
     * @example
     * const redis = user.redis("redis://127.0.0.1/0");
     * await redis.command("SET", "cart:7", "3 tickets", "EX", 60);
     * const cart = await redis.command("GET", "cart:7", { name: "Read cart" });
     * user.check("it is there", cart.value === "3 tickets");
     */
    redis(url: string, options?: RedisOptions): Redis;

    /**
     * Names a database: `postgres://user:password@host:port/database`, or `mysql://…` for MySQL and MariaDB; with `?sslmode=require` for TLS. The user's first
     * statement connects; all further ones share the connection.
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
     * Names a Kafka cluster by one of its brokers: `kafka://host:port`, or `kafkas://user:password@host:port` with TLS and a login by SASL/PLAIN;
     * behind it `?mechanism=SCRAM-SHA-256` or `?mechanism=SCRAM-SHA-512` for a login by SCRAM. The user's first records connect to the
     * leaders of their partitions; all further ones share the connections.
     *
     * @example
     * const kafka = user.kafka("kafka://127.0.0.1:9092");
     * const sent = await kafka.produce("orders", { key: "7", json: { product: "ticket" } }, { name: "Order" });
     * user.check("it is written", sent.ok);
     */
    kafka(url: string, options?: KafkaOptions): Kafka;

    /**
     * Measures several steps as one named transaction. Its time leaves declared pauses out; it fails when a request in it
     * failed or the function throws. Groups may nest. When groups of one user run in parallel, make their requests through the
     * user that is passed to the function, so that each lands in its own group.
     *
     * @example
     * const order = await user.group("Check out", async () => {
     *   await user.post("/cart", { json: { product: 7 } });
     *   return await user.post("/orders");
     * });
     */
    group<T>(name: string, steps: (user: User) => T | Promise<T>, options?: RecordOptions): Promise<T>;
    /**
     * Waits, as a person would between steps. The wait belongs to no request; pauses at the same time count once.
     *
     * @example
     * await user.pause("1s");
     * await user.pause("exponential(2s)");
     */
    pause(delay: Delay): Promise<void>;
    /**
     * Repeats at a steady pace: each turn begins an interval after the one before *began*. A turn that overruns makes the next one
     * late, and the following catch up. Ends after `times` turns, after `for`, or when the load ends. Gives the turn's number: 0, 1, 2, …
     *
     * @example
     * for await (const turn of user.pace({ perMinute: 25, for: "10m" })) await user.get("/tap");
     */
    pace(options: PaceOptions): AsyncIterable<number>;
    /**
     * Records whether something holds, under a name; returns it. A check that fails makes neither a request nor the iteration fail: judge
     * it with the threshold {@link checks}.
     *
     * @example
     * user.check("has products", list.json("$.products").length > 0);
     */
    check(name: string, holds: boolean, options?: RecordOptions): boolean;
    /** Ends the iteration as failed, with a message. It is the script's verdict, and not one of {@link scriptErrors}. */
    fail(message: string): never;
    /** Writes a line to the console with the scenario's and user's name in front. Kept out of the way of live progress. */
    log(...values: unknown[]): void;
  }

  /** How often a paced loop turns, and when it ends. */
  export type PaceOptions = ({ perSecond: number } | { perMinute: number } | { every: Duration }) & {
    /** Most turns. Default: no limit. */
    times?: number;
    /** Longest time. Default: until the load ends. */
    for?: Duration;
  };

  /** One user's cookies for the sites it has spoken to. */
  export interface Cookies {
    /** Value of a cookie that would be sent to the target (or to `url`); `undefined` when there is none. */
    get(name: string, url?: string): string | undefined;
    /** Sets a cookie for the target's (or `url`'s) host and all its paths. */
    set(name: string, value: string, url?: string): void;
    /** Forgets all cookies. */
    clear(): void;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Requests and responses

  /** What a request may carry and expect. */
  export interface RequestOptions {
    /** Name in reports and thresholds. Default: the method and path, with parts that look like identifiers replaced: `GET /tickets/:id`. */
    name?: string;
    /** Header lines; they win over the scenario's and the test's. */
    headers?: Headers;
    /** Query parameters, encoded and added to the URL. A list repeats its name; `undefined` and `null` are left out. */
    query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Credentials for this request; `null` sends none. */
    auth?: Auth | null;
    /** Time limit, from the start to the last byte of the response. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Most redirects to follow; 0 returns the redirect itself. Default: the test's `redirects`. */
    redirects?: number;
    /** Whether cookies are sent and kept. Default: true. */
    cookies?: boolean;
    /** Read and count the body, but do not keep it, unless the status is 400 or above: for large downloads. Default: false. */
    discardBody?: boolean;
    /** What the response must be like; a miss makes the request failed. Default: a status below 400. */
    expect?: Expectation;
    /** The request counts under its name, and for the part of it with these tags. Default: none. */
    tags?: Tags;
  }

  /** A value in a query string. */
  export type QueryValue = string | number | boolean | null | undefined;

  /** A request with a body: at most one of `json`, `form`, `multipart` and `body`. */
  export interface BodyRequestOptions extends RequestOptions {
    /** Sent as JSON, with `content-type: application/json`. */
    json?: unknown;
    /** Sent as an HTML form, with `content-type: application/x-www-form-urlencoded`. */
    form?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Sent as `multipart/form-data`: fields and {@link file}s. */
    multipart?: Readonly<Record<string, string | number | boolean | FileContent>>;
    /** Sent as it is: text, bytes, a {@link file} or a {@link template}. */
    body?: string | Uint8Array | FileContent;
  }

  /**
   * What a response must be like. All parts must hold; the first that does not makes the request failed and is reported. It never throws.
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
   * A response, or what is known when there was none. Values are taken out of it without `await`: the body is there.
   *
   * `json`, `regex`, `css` and `xpath` throw when the value is missing, which ends the iteration as failed, unless a
   * fallback is given as their last argument.
   */
  export interface Response extends Extractable {
    /** Whether the request passed: answered, with a status below 400 or as expected, and every `expect` held. */
    readonly ok: boolean;
    /** HTTP status; 0 when there was no response. */
    readonly status: number;
    /** Why the request failed, in words; `undefined` when it passed. */
    readonly error: string | undefined;
    /** The URL that answered, after redirects. */
    readonly url: string;
    /** Header lines, names in lower case; repeated lines are joined with `, `. */
    readonly headers: Headers;
    /** Fields that came behind the body, names in lower case. Only over HTTP/2; otherwise empty. */
    readonly trailers: Headers;
    /** A header's first value, whatever the case of its name; `undefined` when it is missing. */
    header(name: string): string | undefined;
    /** The body as bytes, decompressed. */
    readonly bytes: Uint8Array;
    /** Where the time went. */
    readonly times: Times;
    /**
     * Text of the first element that a CSS selector finds, or its `attribute`. Throws when there is none.
     *
     * @example
     * const token = page.css("input[name=csrf]", { attribute: "value" });
     */
    css(selector: string, options?: { attribute?: string }): string;
    /** The same, or `fallback` when the selector finds nothing. */
    css<F>(selector: string, options: { attribute?: string }, fallback: F): string | F;
    /** Texts (or attributes) of all elements that a CSS selector finds. */
    cssAll(selector: string, options?: { attribute?: string }): string[];
    /** Text of the first node (or the value) that an XPath 1.0 expression finds in an XML or HTML body. Throws when there is none. */
    xpath(expression: string): string;
    /** The same, or `fallback` when the expression finds nothing. */
    xpath<F>(expression: string, fallback: F): string | F;
    /** Texts of all nodes that an XPath 1.0 expression finds. */
    xpathAll(expression: string): string[];
  }

  /** Something with a body that values can be taken out of: a {@link Response}, a {@link Message} or a {@link StubRequest}. */
  export interface Extractable {
    /** The body as text (UTF-8; other bytes become U+FFFD). */
    readonly text: string;
    /**
     * The whole body as JSON, or the first value at a JSON path (RFC 9535, with filters). Throws when the body is not JSON or the path finds nothing.
     *
     * @example
     * const all  = response.json();
     * const id   = response.json("$.items[0].id");
     * const open = response.json("$.orders[?@.state == 'open'].id");
     * const next = response.json("$.next", null);                        // null when there is none
     */
    json(path?: string): any;
    /** The same, or `fallback` when the path finds nothing or the body is not JSON. */
    json<F>(path: string, fallback: F): any | F;
    /** All values at a JSON path; an empty list when there are none. */
    jsonAll(path: string): any[];
    /**
     * The first match of a regular expression in the body: `[0]` is the whole match, `[1]` the first group. Throws when there is none.
     *
     * @example
     * const access = answer.regex(/"access" *: *(true|false)/)[1];
     */
    regex(pattern: RegExp): Match;
    /** The same, or `fallback` when nothing matches. */
    regex<F>(pattern: RegExp, fallback: F): Match | F;
  }

  /** A match of a regular expression. A group that took no part is an empty text. */
  export type Match = readonly string[] & { readonly groups: Readonly<Record<string, string>> };

  /** Where a request's time went. Milliseconds; 0 where a phase did not happen (an open connection needs no connect). */
  export interface Times {
    /** Waiting for a free connection of the user, or for a free stream of its HTTP/2 connection. */
    readonly queue: number;
    /** Looking up the host's name. */
    readonly dns: number;
    /** Opening the connection. */
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
  // A socket belongs to the user that opened it. It answers the server's pings and times its messages for as long as it is open, also
  // while the script does something else. When the iteration ends, its sockets are closed with the closing handshake, for which it waits five
  // seconds at most. A load that is cut off (by the end of `gracefulStop`, or Ctrl-C) sends the close frame with code 1001 and does not wait.
  //
  // A socket that is lost is counted by kind, once: by the request that waited for a response, or else in the list of errors under the name of its
  // handshake; its iteration is failed either way. The server's close frame with code 1000, or with none, is no loss where nothing waited.

  /** How a WebSocket is opened. */
  export interface SocketOptions extends RecordOptions {
    /** Name of the handshake in reports and thresholds. Default: `WS` and the path, with parts that look like identifiers replaced. */
    name?: string;
    /** Header lines of the handshake; they win over the scenario's and the test's. */
    headers?: Headers;
    /** Credentials for the handshake; `null` sends none. */
    auth?: Auth | null;
    /** Sub-protocols offered to the server, best first. */
    protocols?: readonly string[];
    /** Time limit of the handshake. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Offer compression of messages (permessage-deflate, without context between messages). Default: false. */
    compression?: boolean;
    /**
     * What becomes of messages that nothing waits for: `"keep"` has them wait for `receive` or `messages`, 1,000 of them or 16 MiB, beyond which
     * the socket ends with an error; `"drop"` forgets them. Default: "keep".
     */
    unread?: "keep" | "drop";
    /**
     * Leave the socket open when the iteration ends, for the user's next one: keep it in `user.state`. It lives as long as that does, so in open
     * load, where every arrival is another visitor, it is closed all the same. The user's last is closed with code 1001. Default: false.
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
   *   if (!socket.open) socket = await connect(user);                 // lost since the last turn: connect again
   *   await socket.request("tap", { name: "Tap", within: "500ms" });
   * }
   */
  export interface Socket {
    /** Whether messages can be sent: it was opened, and neither side has closed it. */
    readonly open: boolean;
    /** Why it could not be opened or was lost, in words; `undefined` while all is well. */
    readonly error: string | undefined;
    /** The sub-protocol that the server chose, or "". */
    readonly protocol: string;
    /** Sends a message; resolves when it was handed to the kernel. Measured as a request when it has a name. */
    send(message: string | Uint8Array, options?: { name?: string; tags?: Tags }): Promise<void>;
    /**
     * Sends a message and waits for the first one after it that matches. Measured as a request: from the first byte handed to the kernel to the
     * last byte of the response. Messages that do not match wait for `receive` and `messages`.
     */
    request(message: string | Uint8Array, options?: MessageOptions): Promise<Message>;
    /**
     * Waits for a message that the server sends by itself, or takes one that is waiting unread. Measured as a request when it has a name, and fails
     * nothing when it has none.
     */
    receive(options?: MessageOptions): Promise<Message>;
    /**
     * All further messages, one after another, until the socket is closed or the load ends.
     *
     * @example
     * for await (const price of socket.messages()) user.check("has a price", price.json("$.price") > 0);
     */
    messages(): AsyncIterable<Message>;
    /**
     * Sends a ping and waits for its pong. Without one in time the connection counts as lost: how a connection that is dead on the other side is
     * found. Returns whether it came. Measured as a request when it has a name.
     *
     * @example
     * if (!(await socket.ping({ within: "5s" }))) socket = await user.ws("/live", { name: "Connect again" });
     */
    ping(options?: { name?: string; within?: Duration; tags?: Tags }): Promise<boolean>;
    /** Closes with a code (1000, the default, or 3000 to 4999) and waits for the server's close, for five seconds at most. */
    close(code?: number, reason?: string): Promise<void>;
    /** Resolves when the socket is closed, by either side. Codes that no close frame carried: 1005 where it had none, 1006 where there was no frame. */
    readonly closed: Promise<{ code: number; reason: string }>;
  }

  /** Which message is waited for, and how long. */
  export interface MessageOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: that of the handshake and `request`. */
    name?: string;
    /** The message contains this text, matches this expression, or is accepted by this function. Default: any message. */
    match?: string | RegExp | ((message: Message) => boolean);
    /** Time limit; passing it makes a timed-out request. Default: the scenario's `timeout`, then the test's `requestTimeout`. */
    within?: Duration;
  }

  /** A message, or what is known when none came in time. Values are taken out of it as out of a {@link Response}. */
  export interface Message extends Extractable {
    /** Whether there is a message. */
    readonly ok: boolean;
    /** Why there is none, in words; `undefined` when there is one. */
    readonly error: string | undefined;
    /** The message as bytes. */
    readonly bytes: Uint8Array;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Server-sent events
  // A stream belongs to the user that opened it, reads its events for as long as it is open, and is closed when the iteration ends. When the server
  // ends it or the connection breaks, it is opened again, as browsers do: after the time that the server asked for (`retry`), or three seconds, and
  // with the last id as `Last-Event-ID`. Every connection, with the redirects before it, is a request under the stream's name.
  // A break is an error, a server's end of the stream
  // is none; a response that is no stream of events ends it for good, and status 204 does so without being an error.

  /** How a stream of events is opened. */
  export interface EventsOptions extends RecordOptions {
    /** Name of its connections in reports and thresholds. Default: `SSE` and the path, with parts that look like identifiers replaced. */
    name?: string;
    /** Header lines; they win over the scenario's and the test's. */
    headers?: Headers;
    /** Query parameters, as of a request. */
    query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Credentials; `null` sends none. */
    auth?: Auth | null;
    /** Time limit until the head of the response has come. Default: the scenario's, then the test's. */
    timeout?: Duration;
    /** Most redirects to follow each time it is opened; 0 follows none. Default: the test's `redirects`. */
    redirects?: number;
    /** Default: "GET", and "POST" with a body. */
    method?: string;
    /** A body, as of a request: at most one of `json`, `form` and `body`. */
    json?: unknown;
    /** Sent as an HTML form, with `content-type: application/x-www-form-urlencoded`. */
    form?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>;
    /** Sent as it is: text, bytes, a {@link file} or a {@link template}. */
    body?: string | Uint8Array | FileContent;
    /** What becomes of events that nothing waits for, as of a {@link SocketOptions.unread}. Default: "keep". */
    unread?: "keep" | "drop";
    /** Whether it is opened again when it ends. Default: true. */
    reconnect?: boolean;
  }

  /** A stream of server-sent events. */
  export interface Events {
    /** Whether events may come: it was opened, and has not ended for good. */
    readonly open: boolean;
    /** Why it could not be opened or was lost, in words; `undefined` while all is well. */
    readonly error: string | undefined;
    /** How many events have come. */
    readonly received: number;
    /** Waits for an event, or takes one that is waiting unread. Measured as a request when it has a name, and fails nothing when it has none. */
    receive(options?: EventOptions): Promise<EventMessage>;
    /**
     * All further events, one after another, until the stream or the load ends.
     *
     * @example
     * for await (const event of prices.messages()) if (event.event === "price") user.check("has a price", event.json("$.price") > 0);
     */
    messages(): AsyncIterable<EventMessage>;
    /** Closes the connection. */
    close(): Promise<void>;
  }

  /** Which event is waited for, and how long. */
  export interface EventOptions extends RecordOptions {
    /** Name in reports and thresholds. */
    name?: string;
    /** The data contains this text, matches this expression, or the event is accepted by this function. Default: any event. */
    match?: string | RegExp | ((event: EventMessage) => boolean);
    /** Time limit; passing it makes a timed-out request. Default: the scenario's `timeout`, then the test's `requestTimeout`. */
    within?: Duration;
  }

  /** An event, or what is known when none came in time. Its data is the body that values are taken out of. */
  export interface EventMessage extends Message {
    /** Its kind: `"message"` where the server named none; `undefined` when there is no event. */
    readonly event: string | undefined;
    /** The last id that the server has given, or ""; `undefined` when there is no event. */
    readonly id: string | undefined;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # gRPC
  // Calls go to the target over HTTP/2, without TLS to `http://`, with it to `https://`; all calls of a user to one server share a connection, also
  // when they are under way at the same time, unless `connectionsPerUser` allows more. The test's and the scenario's `headers` and `auth` go along as metadata.
  //
  // Messages are plain objects, by the JSON mapping of Protocol Buffers: fields in camel case (a request may use the names of the file, too),
  // 64-bit integers as text (a request takes numbers and `bigint`, too), bytes as base64 (a request takes a `Uint8Array`, too), enums by name,
  // timestamps as `"2026-01-31T10:00:00Z"`. In a response, fields that are not set have their default. The service `grpc.health.v1.Health` is
  // known without a file.

  /**
   * Reads the services of a `.proto` file, or of all such files in a folder and below it; `protoc` is not needed. Call it at the top level of the
   * test; the path is relative to the file that names it. A file that is missing or wrong stops the start.
   *
   * @example
   * proto("shop.proto");
   * proto("api/shop/v1/shop.proto", { imports: ["api"] });
   */
  export function proto(path: string, options?: ProtoOptions): ProtoServices;

  /** Where the files that a `.proto` file imports are. */
  export interface ProtoOptions {
    /** Folders that imports start from. Default: the folder itself, or that of the file. */
    imports?: readonly string[];
  }

  /** What the files declare. */
  export interface ProtoServices {
    /** Names of all methods: `package.Service/Method`. */
    readonly methods: readonly string[];
  }

  /** Types of requests and responses by method: `loadstone types shop.proto` writes a file that adds yours. */
  export interface GrpcMethods {
  }

  /** One of the types of a method; whatever, where the file was written before there was this one. */
  export type Typed<M extends keyof GrpcMethods, Part extends string> = GrpcMethods[M] extends { [part in Part]: infer Type } ? Type : any;

  /** The name of a status. */
  export type GrpcStatus =
    | "OK" | "CANCELLED" | "UNKNOWN" | "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS" | "PERMISSION_DENIED"
    | "RESOURCE_EXHAUSTED" | "FAILED_PRECONDITION" | "ABORTED" | "OUT_OF_RANGE" | "UNIMPLEMENTED" | "INTERNAL" | "UNAVAILABLE" | "DATA_LOSS"
    | "UNAUTHENTICATED";

  /** What a call may carry and expect. */
  export interface GrpcOptions {
    /** Name in reports and thresholds. Default: `Service/Method`, with the package where two services share a name. */
    name?: string;
    /** Metadata: text, a list of texts, or bytes for names that end in `-bin`. It wins over the scenario's and the test's headers. */
    metadata?: Readonly<Record<string, string | number | boolean | readonly string[] | Uint8Array | null | undefined>>;
    /** Credentials for this call; `null` sends none. */
    auth?: Auth | null;
    /**
     * Time limit of the whole call, which the server is told (`grpc-timeout`). Default: the scenario's, then the test's `requestTimeout`; a stream
     * has none, only its opening has.
     */
    timeout?: Duration;
    /** What the response must be like; a miss makes the call failed. Default: the status OK. */
    expect?: GrpcExpectation;
    /** How messages are sent. Responses may come compressed either way. Default: "none". */
    compression?: "none" | "gzip";
    /** Another server than the target: `"http://127.0.0.1:50051"`. */
    target?: string;
    /** The call counts under its name, and for the part of it with these tags. Default: none. */
    tags?: Tags;
  }

  /** What a gRPC response must be like. All parts must hold. Of a stream, only `status` is judged. */
  export interface GrpcExpectation {
    /** The status, or a list of them. Default: "OK". */
    status?: GrpcStatus | readonly GrpcStatus[];
    /** Metadata and trailers by name: equal to a string, matching a regular expression, or (`true`) present. */
    header?: Readonly<Record<string, string | RegExp | true>>;
    /** The message as JSON contains this text, or matches this regular expression. */
    text?: string | RegExp;
    /** Values of the message by JSON path: equal to a value, matching a regular expression, or accepted by a function. */
    json?: Readonly<Record<string, unknown>>;
    /** The call has ended within this time from its start. */
    within?: Duration;
  }

  /** How a call ended. Its body, for `json` and `regex`, is the message as JSON. */
  export interface GrpcResponse<Message = any> extends Extractable {
    /** Whether the call passed: answered with OK or as expected, and every `expect` held. */
    readonly ok: boolean;
    /** The status; `undefined` when the server gave none (no connection, or no answer in time). */
    readonly status: GrpcStatus | undefined;
    /** The words that came with the status, or "". */
    readonly details: string;
    /** Why the call failed, in words; `undefined` when it passed. */
    readonly error: string | undefined;
    /** The message; `undefined` when none came. Decoded when it is first asked for. */
    readonly message: Message | undefined;
    /** What the server sent before its message, names in lower case; bytes (`-bin`) as base64. */
    readonly metadata: Headers;
    /** What the server sent behind its message. */
    readonly trailers: Headers;
    /** Where the time went. */
    readonly times: Times;
  }

  /** How a call that streams is begun. */
  export interface GrpcStreamOptions extends GrpcOptions {
    /** What becomes of messages that nothing waits for, as of a {@link SocketOptions.unread}. Default: "keep". */
    unread?: "keep" | "drop";
  }

  /**
   * A call that goes on. It is measured as one request from its start to its status; where the server streams, the time to its first message is
   * measured as `NAME first message`. A call that the script cancels, or that is open when the iteration ends, is no failure.
   */
  export interface GrpcStream<Request = object> {
    /** Whether the call goes on. */
    readonly open: boolean;
    /** Why it could not begin, broke or failed, in words; `undefined` while all is well. */
    readonly error: string | undefined;
    /** The status, once the call has ended; `undefined` when the server gave none. */
    readonly status: GrpcStatus | undefined;
    /** What the server sent before its first message. */
    readonly metadata: Headers;
    /** How many messages have been sent. */
    readonly sent: number;
    /** How many messages have come. */
    readonly received: number;
    /** Sends a message; resolves when the connection has taken it. */
    send(message: Request): Promise<void>;
    /** Says that no message follows, behind those that are being sent. */
    end(): Promise<void>;
    /** Waits for a message, or takes one that is waiting unread. Measured as a request when it has a name, and fails nothing when it has none. */
    receive(options?: MessageOptions): Promise<Message>;
    /** All further messages, one after another, until the call or the load ends. */
    messages(): AsyncIterable<Message>;
    /** Gives the call up. */
    cancel(): Promise<void>;
    /** Resolves when the call has ended. */
    readonly closed: Promise<{ status: GrpcStatus | undefined; details: string; trailers: Headers }>;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # TCP
  // A connection belongs to the user that opened it, and is closed when the iteration ends. Nothing is read in the background: a read says where
  // its answer ends. A step that fails closes the connection, since what comes late would be taken for the answer to the next one.

  /** How a TCP connection is opened. */
  export interface TcpOptions extends RecordOptions {
    /** Name of connecting in reports and thresholds. Default: `TCP` and the address. */
    name?: string;
    /** With TLS; as an address that begins with `tls://`. Default: false. */
    tls?: boolean;
    /** Time limit of connecting. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Leave the connection open when the iteration ends, for the user's next one: keep it in `user.state`. It lives as long as that does, so in
     * open load, where every arrival is another visitor, it is closed all the same. Default: false.
     */
    keep?: boolean;
  }

  /** Where an answer ends: at most one of `until`, `length` and `toEnd`. With none of them, with the bytes that arrive first. */
  export interface TcpReadOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: that of the connection and `read` or `request`. */
    name?: string;
    /** Behind the first of these bytes, which are part of the answer. */
    until?: string | Uint8Array;
    /** After so many bytes. */
    length?: number;
    /** When the server closes the connection. */
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
    /** Why it could not be opened or was lost, in words; `undefined` while all is well. */
    readonly error: string | undefined;
    /** Sends text (as UTF-8) or bytes; resolves when they were handed to the kernel. They are measured with the read that follows. */
    write(data: string | Uint8Array): Promise<void>;
    /**
     * Reads an answer. Measured as a request: from the first byte written since the last answer, or from now where nothing was written, to the
     * answer's last byte. Read at once after writing: what the script does in between is part of the time.
     */
    read(options?: TcpReadOptions): Promise<Message>;
    /** Writes and reads as one step, measured as a request. */
    request(data: string | Uint8Array, options?: TcpReadOptions): Promise<Message>;
    /** Closes the connection. */
    close(): void;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # UDP
  // Nothing tells of a datagram that is lost, but that no answer comes: a request ends with its time limit.

  /** How a UDP socket is opened. */
  export interface UdpOptions {
    /** Name of the socket in messages and of its requests that have none. Default: `UDP host:port`. */
    name?: string;
    /** Time limit for looking the name up. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /** `"drop"` forgets datagrams that nobody waits for when they come. Default: `"keep"`, up to 1,000. */
    unread?: "keep" | "drop";
    /**
     * Leave the socket open when the iteration ends, for the user's next one: keep it in `user.state`. It lives as long as that does, so in open load,
     * where every arrival is another visitor, it is closed all the same. Default: false.
     */
    keep?: boolean;
  }

  /** A UDP socket of one user, which speaks to one address and hears of no other. */
  export interface UdpSocket {
    /** Whether it was opened, and nobody has said since that no one listens there. */
    readonly open: boolean;
    /** Why it could not be opened or was lost, in words; `undefined` while all is well. */
    readonly error: string | undefined;
    /** How many datagrams have come. */
    readonly received: number;
    /** Sends a datagram: text (as UTF-8) or bytes. Measured if it has a name, until the kernel has it. */
    send(data: string | Uint8Array, options?: { name?: string; tags?: Tags }): Promise<void>;
    /** Sends a datagram and waits for the first later one that matches. Measured as a request; without an answer in time it is `timeout`. */
    request(data: string | Uint8Array, options?: MessageOptions): Promise<Message>;
    /** Waits for a datagram. Measured if it has a name. */
    receive(options?: MessageOptions): Promise<Message>;
    /** One datagram after another, until the socket is closed or the load ends. */
    messages(): AsyncIterable<Message>;
    /** Closes the socket. */
    close(): void;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Redis
  // A user has one connection to each server, which lasts as long as its HTTP connections do. Commands that find it taken wait in order, which is the
  // phase `queue` of their time.

  /** How a Redis server is spoken to. */
  export interface RedisOptions {
    /** Version of the protocol (RESP). With 3, maps are objects. Default: 2. */
    protocol?: 2 | 3;
    /** Time limit of each command, connecting included. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
  }

  /** An argument of a command; numbers are sent as text. */
  export type RedisArgument = string | number | bigint | Uint8Array;

  /** How commands are recorded. */
  export interface RedisCommandOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: the command's, or `pipeline`. */
    name?: string;
    /** Time limit. Default: that of the server. */
    timeout?: Duration;
    /** Texts in the reply are given as bytes (`Uint8Array`). Default: false. */
    bytes?: boolean;
  }

  /** A value of a reply. Integers beyond 2⁵³ − 1 are text; an error within a list is an object with its text. */
  export type RedisValue =
    | string | number | boolean | null | Uint8Array | readonly RedisValue[] | { readonly error: string } | { readonly [name: string]: RedisValue };

  /** A Redis server as one user has it. */
  export interface Redis {
    /**
     * Sends a command and waits for its reply. Measured as a request under the command's name, and never throws for what the server does: an error
     * makes it failed. Options come last.
     */
    command(name: string, ...rest: readonly RedisArgument[]): Promise<RedisReply>;
    command(name: string, ...rest: readonly [...RedisArgument[], RedisCommandOptions]): Promise<RedisReply>;
    /** Sends several commands at once and waits for all replies. Measured as one request, which any error makes failed. */
    pipeline(commands: readonly (readonly RedisArgument[])[], options?: RedisCommandOptions): Promise<RedisReply<readonly any[]>>;
  }

  /** What came of a command or of a pipeline. */
  export interface RedisReply<Value = any> {
    /** Whether it was answered, and with no error. */
    readonly ok: boolean;
    /** The server's error, or why there is no reply, in words; `undefined` where all went well. */
    readonly error: string | undefined;
    /** The reply as a {@link RedisValue}; of a pipeline, a list with the reply to each command. `undefined` where there is none. */
    readonly value: Value | undefined;
    /** How long it took. */
    readonly times: Times;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # SQL
  // A user has one connection to each database, which lasts as long as its HTTP connections do. Statements that find it taken wait in order, which is
  // the phase `queue` of their time; a transaction has it until its end.

  /** How a database is spoken to. */
  export interface SqlOptions {
    /** Time limit of each statement, connecting included. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
    /**
     * Whether a statement is prepared the first time, and then only executed; of MySQL those that have values. Poolers that share connections may want `false`.
     * Default: true.
     */
    prepare?: boolean;
  }

  /**
   * A value of `$1`, `$2`, …, or of MySQL's `?`. `Uint8Array` is `bytea` or `BLOB`, dates are written as text (to MySQL in UTC) and other objects as JSON.
   * Lists are arrays of PostgreSQL, where the server says which type each value must have; MySQL has none.
   */
  export type SqlParameter = string | number | bigint | boolean | null | Uint8Array | Date | object | readonly SqlParameter[];

  /** How a statement is recorded, and how its rows are given. */
  export interface SqlStatementOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: the first word and the table, such as `SELECT orders`. */
    name?: string;
    /** Time limit; a statement that passes it closes the connection. Default: that of the database. */
    timeout?: Duration;
    /** Rows are lists of values instead of objects. Default: false. */
    arrays?: boolean;
  }

  /** How a transaction begins, and how that and its end are recorded. */
  export interface SqlTransactionOptions extends RecordOptions {
    /** What `BEGIN`, `COMMIT` and `ROLLBACK` are called: with `"Order"`, `Order begin`, `Order commit` and `Order rollback`. */
    name?: string;
    /** Time limit of `BEGIN`, and of `COMMIT` or `ROLLBACK`. Default: that of the database. */
    timeout?: Duration;
    /** Default: the database's, most often `read committed`. */
    isolation?: "read committed" | "repeatable read" | "serializable";
  }

  /** What statements are given to. */
  export interface SqlStatements {
    /**
     * Runs one statement and waits for all of its rows. Measured as a request, and never throws for what the server does: an error makes it failed.
     *
     * @example
     * const added = await sql.query("INSERT INTO orders (product) VALUES ($1) RETURNING id", ["ticket"], { name: "Create order" });
     * if (!added.ok) return;
     * await sql.query("DELETE FROM orders WHERE id = $1", [added.value]);
     */
    query(text: string, options?: SqlStatementOptions): Promise<SqlResult>;
    query(text: string, parameters: readonly SqlParameter[], options?: SqlStatementOptions): Promise<SqlResult>;
  }

  /** A database as one user has it. */
  export interface Sql extends SqlStatements {
    /**
     * Begins a transaction, runs the function, and commits. Rolls back where one of its statements failed or the function throws. Give its statements to
     * what the function is given: those that are given to the database itself wait for its end.
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
    /** Ends it without keeping anything; it then has no more statements. */
    rollback(): Promise<SqlResult>;
  }

  /** What came of a transaction. */
  export interface SqlTransactionResult<T> {
    /** Whether it was begun, and all of its statements and its end have passed. */
    readonly ok: boolean;
    /** Whether it was kept. */
    readonly committed: boolean;
    /** The first error in it; `undefined` where all went well. */
    readonly error: string | undefined;
    /** SQLSTATE of that error, such as `40001`, or MySQL's number, such as `1213`, where the server said one. */
    readonly code: string | undefined;
    /** What the function returned; `undefined` where the transaction could not be begun. */
    readonly value: T | undefined;
  }

  /** What came of a statement. */
  export interface SqlResult {
    /** Whether it was done. */
    readonly ok: boolean;
    /** The server's error, its code first, or why there is no answer, in words; `undefined` where all went well. */
    readonly error: string | undefined;
    /** SQLSTATE of the error, such as `23505`, or MySQL's number, such as `1062`, where the server said one. */
    readonly code: string | undefined;
    /** Rows that were returned or changed. */
    readonly count: number;
    /** What MySQL has numbered the first row with that was added (`AUTO_INCREMENT`); `undefined` where it did not. With PostgreSQL, write `RETURNING id`. */
    readonly insertedId: any;
    /**
     * The rows: objects by the names of their columns, or lists with `arrays`. Booleans, integers up to 2⁵³ − 1 and floating-point numbers are values of
     * JavaScript, JSON is read, `bytea` and `BLOB` are a `Uint8Array`; all else is text as the server writes it: decimals, times, arrays, larger integers.
     */
    readonly rows: readonly any[];
    /** The first row; `undefined` where there is none. */
    readonly row: any;
    /** The first value of the first row; `undefined` where there is none. */
    readonly value: any;
    /** How long it took. */
    readonly times: Times;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Kafka
  // A user has one connection to each broker, which lasts as long as its HTTP connections do. Requests that find it taken wait in order, which is the phase
  // `queue` of their time. Consumers belong to the test and not to a user: see {@link kafka}.

  /** How a cluster is spoken to. */
  export interface KafkaOptions {
    /** Who must have a record before it counts as written. Default: `"all"`. */
    acks?: KafkaAcks;
    /** How batches are packed, as by Kafka's `compression.type`. Default: `"none"`. */
    compression?: KafkaCompression;
    /** Time limit of each request, connecting included. Default: the scenario's, then the test's `requestTimeout`. */
    timeout?: Duration;
  }

  /** All replicas that are in step, the partition's leader alone, or nobody: then nothing is answered, and the request ends when it was sent. */
  export type KafkaAcks = "all" | 1 | 0;

  /** How the records of a batch are packed; brokers of 2.1 and later know zstd. */
  export type KafkaCompression = "none" | "gzip" | "snappy" | "lz4" | "zstd";

  /** Text, bytes or a number, which is sent as text; `null`: nothing. */
  export type KafkaBytes = string | number | bigint | Uint8Array | null;

  /** What is written to a topic: a `value`, or one as `json`. */
  export interface KafkaRecord {
    /** Records of one key go to one partition, the same as with Kafka's own producers. Default: none. */
    key?: KafkaBytes;
    /** With `null`, what has this key is gone, where the topic is compacted. */
    value?: KafkaBytes;
    /** The value, written as JSON. */
    json?: unknown;
    /** By name; a list repeats its name. */
    headers?: Readonly<Record<string, KafkaBytes | readonly KafkaBytes[]>>;
    /** Default: that of the key; without a key, the next one in turn for all such records of a request. */
    partition?: number;
    /** Milliseconds since 1970. Default: now. */
    timestamp?: number;
  }

  /** How records are written, and how that is recorded. */
  export interface KafkaProduceOptions extends RecordOptions {
    /** Name in reports and thresholds. Default: `produce` and the topic. */
    name?: string;
    /** Time limit; a request that passes it closes the connection. Default: that of the cluster. */
    timeout?: Duration;
    /** Default: that of the cluster. */
    acks?: KafkaAcks;
    /** Default: that of the cluster. */
    compression?: KafkaCompression;
  }

  /** A Kafka cluster as one user has it. */
  export interface Kafka {
    /**
     * Writes records at once and waits until they are acknowledged. Measured as one request, and never throws for what a broker does: a refusal makes it
     * failed.
     *
     * @example
     * await kafka.produce("orders", { key: "7", value: "ticket", headers: { source: "web" } });
     * await kafka.produce("orders", orders.map((order) => ({ key: order.id, json: order })), { acks: 1, name: "Batch" });
     */
    produce(topic: string, records: KafkaRecord | readonly KafkaRecord[], options?: KafkaProduceOptions): Promise<KafkaResult>;
  }

  /** Where a record is. */
  export interface KafkaPlace {
    /** Its number, from 0. */
    readonly partition: number;
    /** `undefined` with `acks: 0`. */
    readonly offset: number | undefined;
  }

  /** What came of records. */
  export interface KafkaResult {
    /** Whether all were written. */
    readonly ok: boolean;
    /** What the broker refused, its code first, or why there is no answer, in words; `undefined` where all went well. */
    readonly error: string | undefined;
    /** Kafka's name for the refusal, such as `NOT_ENOUGH_REPLICAS`, where there is one. */
    readonly code: string | undefined;
    /** Of the first record. */
    readonly partition: number | undefined;
    /** Of the first record; `undefined` with `acks: 0`. */
    readonly offset: number | undefined;
    /** Of all records, in their order; empty where something failed. */
    readonly places: readonly KafkaPlace[];
    /** How long it took. */
    readonly times: Times;
  }

  /** A record that a consumer was given. Its value is read as `text`, `json(…)`, `regex(…)` and `bytes`. */
  export interface KafkaConsumedRecord extends Extractable {
    /** Where it was read. */
    readonly topic: string;
    /** The number of its partition, from 0. */
    readonly partition: number;
    /** Its place in that partition. */
    readonly offset: number;
    /** Milliseconds since 1970, as the producer or the broker has set it. */
    readonly timestamp: number;
    /** As text; `undefined` where there is none. */
    readonly key: string | undefined;
    /** As text; of several of one name, the last. */
    readonly headers: Readonly<Record<string, string>>;
    /** `false`: it says that what has its key is gone. */
    readonly hasValue: boolean;
    /** The value as bytes. */
    readonly bytes: Uint8Array;
  }

  /** Consumers of a test. */
  export const kafka: {
    /**
     * Calls a function for each record that is written to the topic from the start of the run on, by whomever: where journeys come to their end. It reads all
     * partitions, for no group. Declare it at the top level of the test. The function runs beside those of stubs and returns at once; what it tells of flows
     * counts from when the record was read.
     *
     * @example
     * const delivery = flow("Delivery");
     * kafka.consume("kafka://127.0.0.1:9092", "delivered", (record) => delivery.finish(record.json("$.orderId")));
     */
    consume(url: string, topic: string, take: (record: KafkaConsumedRecord) => void | Promise<void>): void;
  };

  // ───────────────────────────────────────────────────────────────────────────
  // # Data
  // Data files are read once, whatever the number of cores and users, and are named relative to the file that names them. Declare feeders,
  // shared values and files at the top level of the test.

  /**
   * Rows of a CSV file; the first line names the columns. Values are text. A missing or empty file, or a line with too many or too few values, stops the start.
   *
   * @example
   * const barcodes = csv("barcodes.csv").circular();
   * const { barcode } = barcodes.next();
   */
  export function csv<Row = Record<string, string>>(path: string, options?: CsvOptions): Source<Row>;

  /** How a CSV file is written. */
  export interface CsvOptions {
    /** What stands between values, one character. Default: ",". */
    separator?: string;
    /** Names of the columns, for a file without a first line that names them. */
    columns?: readonly string[];
  }

  /**
   * Rows of a JSON file that holds a list, or of the list at a JSON path in it.
   *
   * @example
   * const tokens = json("session.json", "$.tokens").random();
   */
  export function json<Row = any>(path: string, at?: string): Source<Row>;

  /** Rows of a file with one JSON value on each line. Empty lines are skipped. */
  export function jsonl<Row = any>(path: string): Source<Row>;

  /** Rows written in the script itself. Every core has its own copy of them; what is given out is exact across cores. */
  export function rows<Row>(list: readonly Row[]): Source<Row>;

  /** Rows of data; choose how they are given out. Each call makes a feeder with a position of its own. */
  export interface Source<Row> {
    /** Number of rows. */
    readonly length: number;
    /** In order, from the start again after the last: exactly one row for each call of `next`, across all cores. */
    circular(): Feeder<Row>;
    /** Any row at any time. The draws repeat with the run's seed. */
    random(): Feeder<Row>;
    /** Every row once, in an order drawn from the run's seed; then it is exhausted. */
    shuffle(): Feeder<Row>;
    /** Every row once, in order; then it is exhausted. */
    queue(): Feeder<Row>;
  }

  /** Gives out rows to all users of the run. */
  export interface Feeder<Row> {
    /**
     * The next row, as an object of its own.
     *
     * When a `shuffle` or `queue` is exhausted, the iteration that asks ends at once and is not counted, neither as passed nor as
     * failed; its load part starts no more iterations (those that run may finish). A line on the console says so once.
     */
    next(): Row;
    /** Rows left to give out; `Infinity` where rows are given out again. */
    readonly remaining: number;
  }

  /**
   * Rows made by a function, which is given a number that no other call in the run gets: 0, 1, 2, …
   *
   * @example
   * const accounts = generator((n) => ({ name: `account-${n}`, limit: 100 + n % 7 }));
   */
  export function generator<Row>(make: (n: number) => Row): Feeder<Row>;

  /**
   * A value common to all users on all cores, under a name: what a set-up prepares reaches the other scenarios through it. It must be
   * expressible as JSON. Variables of the module are *not* common: every core has its own.
   *
   * @example
   * const tokens = shared<string[]>("tokens", []);
   * const setUp  = scenario("Set up", async (user) => { tokens.push((await user.post("/login")).json("$.token")); });
   * const browse = scenario("Browse", (user) => user.get("/", { auth: { bearer: user.random.choice(tokens.get()) } }));
   */
  export function shared<T>(name: string, initial: T): Shared<T>;

  /** A value common to all users. Every change is seen by all of them; none is lost. */
  export interface Shared<T> {
    /** The present value. Do not change it in place: use the methods below. Cheap while it does not change. */
    get(): T;
    /** Replaces the value. */
    set(value: T): void;
    /** Replaces the value by what the function makes of it; returns the new value. The function may be called again when another core was faster. */
    update(change: (value: T) => T): T;
    /** Adds to a number; returns the new value. Default: 1. */
    increment(this: Shared<number>, by?: number): number;
    /** Adds items at the end of a list; returns its new length. */
    push<Item>(this: Shared<Item[]>, ...items: Item[]): number;
    /** Takes the first item of a list away and returns it; `undefined` when the list is empty. No item is given out twice. */
    shift<Item>(this: Shared<Item[]>): Item | undefined;
  }

  /**
   * Gathers rows from all users in a file, which a later test can feed on: `.csv` or `.jsonl`, relative to the file that names it. It is
   * written when the run is over, in place of the one before; a run that collected no rows, and `loadstone try`, leave that as it was.
   *
   * @example
   * const barcodes = collect<{ barcode: string }>("barcodes.csv");     // and in the next test: csv("barcodes.csv").circular()
   * const buy = scenario("Buy", async (user) => barcodes.add({ barcode: (await user.post("/tickets")).json("$.barcode") }));
   */
  export function collect<Row extends object = Record<string, string | number | boolean | null>>(path: string): Collection<Row>;

  /** A file in the making. */
  export interface Collection<Row> {
    /** Adds a row. In a CSV file all rows have the same columns, named by the first, and hold texts, numbers, true or false. */
    add(row: Row): void;
  }

  /**
   * A text that no other call returns, in this run or another, on any core or machine. Short, of letters, digits and `-`. It does not repeat with the seed.
   *
   * @example
   * const email = `${uniqueId("user")}@example.com`;   // user-m3k9x2ab-0-1
   */
  export function uniqueId(prefix?: string): string;

  /**
   * Random draws from one stream for each core, seeded by the run. Inside scenarios prefer `user.random`, whose draws do not depend on
   * what other users do.
   */
  export const random: Random;

  /** Random draws from the run's seed. */
  export interface Random {
    /** At least 0 and below 1. */
    number(): number;
    /** A number from `min` up to, not including, `max`. */
    between(min: number, max: number): number;
    /** A whole number from `min` to `max`, both included. */
    integer(min: number, max: number): number;
    /** True with the given probability. Default: 0.5. */
    boolean(probability?: Share): boolean;
    /** One item of a list, which must not be empty. */
    choice<T>(list: readonly T[]): T;
    /**
     * One of the keys, as often as its weight says.
     *
     * @example
     * user.random.weighted({ browse: 80, search: 15, buy: 5 })
     */
    weighted<K extends string>(weights: Readonly<Record<K, number>>): K;
    /** A new list with the same items in another order. */
    shuffle<T>(list: readonly T[]): T[];
    /** Text of the given length. Default alphabet: `a`–`z` and `0`–`9`. */
    string(length: number, alphabet?: string): string;
    /** Random bytes. Not for secrets: they repeat with the seed. */
    bytes(count: number): Uint8Array;
    /** A version 4 UUID. It repeats with the seed; see {@link uniqueId} for what must not. */
    uuid(): string;
    /** A number from a normal distribution. */
    normal(mean: number, deviation: number): number;
    /** A number from an exponential distribution. */
    exponential(mean: number): number;
    /** A number of milliseconds from a delay distribution. */
    delay(delay: Delay): number;
  }

  /**
   * Fills a text file's `{{name}}` with values. A value that is missing is an error that names it, the file and the line.
   * Texts are written as they are, other values as JSON. `{{a.b}}` reaches into objects, `{{name|json}}` writes a value as JSON, `{{name|url}}` encodes it for
   * a URL, `\{{` stands for `{{` itself.
   *
   * @example
   * await user.post("/orders", { headers: { "content-type": "application/json" }, body: template("order.json", { product: 7, amount: 3 }) });
   * const hello = template.text("Hello {{name}}!", { name: "Ada" });
   */
  export const template: TemplateFunction;

  /** Fills templates from files, and (`text`) from texts. */
  export interface TemplateFunction {
    /** Fills a template from a file, whose path is relative to the file that calls. */
    (path: string, values?: TemplateValues): string;
    /** Fills a template that is given as text. */
    text(text: string, values?: TemplateValues): string;
  }

  /** Values for a {@link template}. */
  export type TemplateValues = Readonly<Record<string, unknown>>;

  /**
   * A file, read once: for bodies and uploads. `type` is its media type, by default guessed from the name; `name` the file name sent in uploads.
   *
   * @example
   * await user.post("/photos", { multipart: { title: "Sunset", photo: file("sunset.jpg") } });
   */
  export function file(path: string, options?: { type?: string; name?: string }): FileContent;

  /** The content of a file. */
  export interface FileContent {
    /** File name that is sent in uploads. */
    readonly name: string;
    /** Media type, such as `image/jpeg`. */
    readonly type: string;
    /** Size in bytes. */
    readonly size: number;
    /** The content as text (UTF-8). */
    readonly text: string;
    /** The content as bytes. */
    readonly bytes: Uint8Array;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Flows

  /**
   * An asynchronous journey, correlated by a key: it starts in one place and finishes in another, on another connection. Declare it at
   * the top level of the file. After the load the run goes on until no journey is open any more, or for `drain`. Journeys that do not
   * finish are counted as open or lost, never as fast (docs/metrics.md, Flows).
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

  /** How a flow is followed. */
  export interface FlowOptions {
    /** A journey that takes longer is lost. Default: none, it may take until the run ends. */
    timeout?: Duration;
    /** How long the run goes on after its load while journeys are open; Ctrl-C ends it sooner. Default: "1m". */
    drain?: Duration;
    /** Names of stages that journeys pass, in this order; at most 32. */
    stages?: readonly string[];
  }

  /** A declared journey. Keys are texts or numbers; 7 and "7" are the same key. Once a journey is over, its key may start another. */
  export interface Flow {
    /** As reports and thresholds call it. */
    readonly name: string;
    /**
     * The journey of this key begins: now, or with `since` when that response's request, or that user's iteration, was *due*. Use `since`
     * where the key is only known from a response: otherwise a slow response hides part of the journey.
     *
     * @example
     * delivery.start(answer.json("$.id"), { since: answer });
     */
    start(key: string | number, options?: { since?: Response | User }): void;
    /** The journey of this key has reached a stage. */
    stage(name: string, key: string | number): void;
    /** The journey of this key has ended. In the function of a stub: at the instant at which the request arrived there. */
    finish(key: string | number): void;
  }

  /** Time of a flow's journeys from start to finish, or until they reach a stage. */
  export function flowTime(flow: Flow | string, stage?: string): TimeMetric;
  /** Open journeys of a flow, at the end of each second. */
  export function flowBacklog(flow: Flow | string): LevelMetric;
  /** Journeys of a flow that timed out or were still open when the run ended; `rate` is their share of those that started. */
  export function flowLost(flow: Flow | string): CountMetric<number, Share>;

  // ───────────────────────────────────────────────────────────────────────────
  // # Experiments

  /**
   * A setting of the system that `loadstone experiment` turns there and back, to prove a cause (docs/experiment.md). Declare it at the top level of
   * the file. No other command turns it.
   *
   * @example
   * knob("pool", {
   *   values: [5, 10],
   *   apply: (size) => ({ command: `POOL_SIZE=${size} docker compose up -d shop` }),
   *   ready: "http://127.0.0.1:8080/health",
   * });
   */
  export function knob<const V extends KnobValues>(name: string, options: KnobOptions<V>): Knob;

  /** Two values or more. */
  export type KnobValues = readonly [KnobValue, KnobValue, ...KnobValue[]];

  /** A value of a knob. Of two numbers, the greater one counts as more room for the system. */
  export type KnobValue = string | number | boolean;

  /** What {@link knob} returns. */
  export interface Knob {
    /** As it was declared. */
    readonly name: string;
  }

  /** How a knob is turned. */
  export interface KnobOptions<V extends KnobValues> {
    /** The first is what the others are held against, and what is put back in the end, also after Ctrl-C or a failure. */
    values: V;
    /** What is to be done for a value: one thing, or several, one after the other. Called once for each value, before any load. */
    apply: (value: V[number]) => KnobChange | readonly KnobChange[];
    /** URL that answers 2xx once the system is ready again. Default: it is ready at once. */
    ready?: string;
    /** How long each change, and getting ready, may take. Default: "30s". */
    within?: Duration;
    /** Pause after the system is ready. Default: none. */
    settle?: Duration;
  }

  /** One thing that is done to the system. */
  export type KnobChange =
    /** A line for `sh`, in the test's folder. It has done its work when it ends with 0; what it leaves running goes on. */
    | { command: string }
    /** A request, which must be answered with 2xx. Default: POST. */
    | { http: string; method?: string; headers?: Headers; json?: unknown; body?: string }
    /** Writes a file, relative to the test's folder. */
    | { file: string; text: string }
    /** What one of Loadstone's own proxies does from now on; what is left out, it no longer does. */
    | ({ proxy: TcpProxy } & ProxyEffects)
    /** CPUs that the control group of a process may use (versions 1 and 2), or "all". */
    | { cpus: number | "all"; of: KnobTarget }
    /** A process stands still, or goes on. */
    | { paused: boolean; of: KnobTarget };

  /** Processes of this machine: those that listen on a port with all that descend from them, one, or a control group. */
  export type KnobTarget = { port: number } | { pid: number } | { cgroup: string };

  /** What a proxy does to the connections through it. */
  export interface ProxyEffects {
    /** Added to every round trip: what comes from the caller waits so long. Default: none. */
    delay?: Duration;
    /** Bytes per second of all connections together, in each direction. Default: no limit. */
    bandwidth?: number;
    /** Share of new connections that are reset when their first bytes come. Default: 0. */
    resets?: Share;
  }

  /** Loadstone's own proxies, between the system and what it depends on. */
  export const proxy: {
    /**
     * A TCP proxy. It serves while the test runs; during an experiment throughout, so that connections through it stay. The system must be told to connect to
     * `listen`. Declare it at the top level of the file.
     *
     * @example
     * const database = proxy.tcp({ listen: "127.0.0.1:6432", to: "127.0.0.1:5432" });
     * knob("delay at PostgreSQL", { values: ["0ms", "1ms", "2ms"], apply: (delay) => ({ proxy: database, delay }) });
     */
    tcp(options: ProxyOptions): TcpProxy;
  };

  /** Where a proxy listens, where it leads, and what it does at first. */
  export interface ProxyOptions extends ProxyEffects {
    /** Address and port, such as "127.0.0.1:6432". */
    listen: string;
    /** Address and port of the server behind it. */
    to: string;
  }

  /** A proxy. */
  export interface TcpProxy {
    /** Where it listens. */
    readonly address: string;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Stubs

  /**
   * Makes simulated endpoints, which the system under test calls. They serve while the test runs, on loopback unless told otherwise, and
   * what they see becomes signals: `stub:NAME/calls`, `in_flight`, `in_flight_max`, `hold`, `answered`, `rejected`, `faulted`.
   */
  export const stub: {
    /**
     * An HTTP server (HTTP/1.1, and HTTP/2 with prior knowledge or over TLS) beside the load. Declare it at the top level of the file.
     * `loadstone stub` serves the same from the command line.
     *
     * @example
     * const subscriber = stub.http({ listen: "127.0.0.1:9099", delay: "loguniform(100ms, 2s)", limit: { rate: "360/s" } });
     */
    http(options?: StubOptions): HttpStub;
    /**
     * A server of gRPC beside the load, for services that {@link proto} has declared. Declare it at the top level of the file. Beside its methods it has server
     * reflection and the health check (`grpc.health.v1.Health`, SERVING); other methods are UNIMPLEMENTED. `loadstone types shop.proto` types its
     * messages.
     *
     * @example
     * const ledger = stub.grpc({ name: "ledger", delay: "lognormal(8ms, 4ms)", faults: { share: "1%", fault: "UNAVAILABLE" } });
     */
    grpc(options?: GrpcStubOptions): GrpcStub;
    /**
     * A server of TCP beside the load: it answers bytes with bytes. Requests of a connection are answered one after the other; the connection stays open. The
     * function runs beside the stub, as those of {@link HttpStub.on}. Declare it at the top level of the file.
     *
     * @example
     * const cache = stub.tcp({ until: "\r\n", delay: "1ms" }, (request) => (request.text === "PING\r\n" ? "+PONG\r\n" : "-ERR\r\n"));
     * stub.tcp({ listen: "127.0.0.1:9100", length: 8, answer: new Uint8Array([0]), faults: { share: "1%", fault: "reset" } });
     */
    tcp(options?: TcpStubOptions, handle?: (request: TcpStubRequest) => TcpStubAnswer | string | Uint8Array | void): TcpStub;
    /**
     * A name server (UDP and TCP, records A and AAAA) beside the load. Names that it does not list do not exist (NXDOMAIN). Its signals are those of any stub,
     * and `lookups{name=…}` and `address_number{name=…}` of each name. Have the system ask it: in a container or a mount namespace with an
     * `/etc/resolv.conf` of its own (docs/decisions.md), which can only name port 53.
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

  /** A simulated name server: where it listens, and what it answers. */
  export interface DnsOptions {
    /** Address and port. */
    listen: string;
    /** Name of its signals. Default: `dns`. */
    name?: string;
    /** The names that exist: an address, several, or what else is to be said of the name. */
    names: { readonly [name: string]: string | readonly string[] | DnsAnswer };
    /** For how long an answer may be believed, in whole seconds. Default: 30s. */
    ttl?: Duration;
    /** Time until an answer. Default: none. */
    delay?: Delay;
    /** Share of the questions by UDP that are not answered. Default: 0. */
    loss?: Share;
    /** Seed of its draws. Default: 1. */
    seed?: number;
  }

  /** What a name server says of one name. */
  export interface DnsAnswer {
    /** IPv4 and IPv6 addresses. */
    address: string | readonly string[];
    /** In place of the server's. */
    ttl?: Duration;
    /** Other addresses, from so long after the start of the run on. */
    moves?: readonly { after: Duration; address: string | readonly string[] }[];
  }

  /** A simulated name server. */
  export interface DnsStub {
    /** Where it listens. */
    readonly address: string;
  }

  /** A simulated server: where it listens ({@link StubServer}), and how it answers what its routes leave unsaid ({@link StubAnswerOptions}). */
  export interface StubOptions extends StubAnswerOptions, StubServer {
    /**
     * Speak TLS: `true` with a certificate made for the occasion, which callers must not verify, or with your own: PEM files of a certificate
     * chain and its key, relative to the test file. Default: false.
     */
    tls?: boolean | { certificate: string; key: string };
  }

  /** How an endpoint answers, and behaves ({@link StubBehaviour}). */
  export interface StubAnswerOptions extends StubBehaviour {
    /** Default: 200. */
    status?: number;
    /** Header lines of the response. */
    headers?: Headers;
    /** Body of the response; one of `body`, `json`, `template`, `size` and `echo` at most. */
    body?: string;
    /** Body of the response, as JSON. */
    json?: unknown;
    /**
     * Text with holes: `{{method}}`, `{{path}}`, `{{body}}`, `{{sequence}}`, `{{id}}`, `{{parameter.NAME}}`, `{{query.NAME}}`, `{{header.NAME}}`,
     * `{{json.a.b.0}}`.
     */
    template?: string;
    /** Bytes of filler. */
    size?: number;
    /** Answer with the request's body. */
    echo?: boolean;
    /** Compress for clients that accept it. */
    gzip?: boolean;
    /** What goes wrong with a share of the requests: a status, a reset of the connection, or no response at all. */
    faults?: StubFault | readonly StubFault[];
    /** Bounds on rate and concurrency. Default: none. */
    limit?: StubLimit;
    /** Bytes per second that all responses share. */
    bandwidth?: number;
    /** Send the body in pieces: so many bytes at a time. */
    slow?: { bytes: number; every: Duration };
  }

  /** A share of requests, and what goes wrong with them. */
  export interface StubFault {
    /** How many of the requests: 0.01 or `"1%"`. */
    share: Share;
    /** A status, a reset of the connection, or no response at all. */
    fault: number | "reset" | "silence";
  }

  /** Bounds that a real endpoint would have; each route has its own. */
  export interface StubLimit {
    /** Requests per second; those above it are rejected with `Retry-After`. */
    rate?: Rate;
    /** Requests that may come at once after a pause. Default: 1. */
    burst?: number;
    /** Requests served at once; the rest wait in line. */
    concurrent?: number;
    /** Requests that may wait; more are rejected. Default: any number may. */
    queue?: number;
    /** Status of the rejected. Default: 429 above the rate, 503 where the line is full. */
    reject?: number;
    /** What `Retry-After` says above the rate. Default: the time until there is room again. */
    retryAfter?: Duration;
  }

  /** A simulated HTTP server. */
  export interface HttpStub {
    /** `http://127.0.0.1:9099`, also where any free port was asked for. */
    readonly url: string;
    /**
     * Adds a route: `"POST /webhook"`, `"GET /accounts/:id"`, `"* /files/*"`. The first that matches serves; with routes, other requests get 404.
     * The function runs beside the stub, not in the users' realm (they share {@link shared} values): it is told of each request on its
     * arrival, and what it returns leaves after the delay. It cannot wait for anything. What function and options leave unsaid is as the stub says.
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
    /** Parts of the path that the route names. */
    readonly parameters: Readonly<Record<string, string>>;
    /** The first value of each name in the query. */
    readonly query: Readonly<Record<string, string>>;
    /** Names in lower case. */
    readonly headers: Headers;
    /** Fields that came behind the body, names in lower case. Only over HTTP/2; otherwise empty. */
    readonly trailers: Headers;
    /** A header's first value, whatever the case of its name; `undefined` when it is missing. */
    header(name: string): string | undefined;
    /** The body as bytes. */
    readonly bytes: Uint8Array;
  }

  /** How any endpoint may behave, whatever it speaks. A request passes in this order: limits, fault, function, delay, answer. */
  export interface StubBehaviour {
    /** Time until the response. Default: none. */
    delay?: Delay;
    /** Measured delays in milliseconds, instead of `delay`: drawn by interpolation between them. */
    delaysMs?: readonly number[];
    /** A file of them, one per line; of a line with commas the first field counts. */
    delaysFrom?: string;
    /** Delays that change with the stub's age, instead of `delay`; the last stage goes on. */
    stages?: readonly { until: Duration; delay: Delay }[];
  }

  /** Where a stub listens, and what it is called. */
  export interface StubServer {
    /** Address and port. Default: 127.0.0.1 and any free port. */
    listen?: string;
    /** Name of its signals. Default: the port, or its number among the file's stubs when that is any free one. */
    name?: string;
    /** Speak TLS, as {@link StubOptions.tls}. Default: false. */
    tls?: boolean | { certificate: string; key: string };
    /** Seed of its draws. Default: 1. */
    seed?: number;
  }

  /**
   * A simulated server of gRPC: where it listens ({@link StubServer}), and how it answers what its methods leave unsaid ({@link GrpcStubEnding},
   * {@link GrpcStubBehaviour}).
   */
  export interface GrpcStubOptions extends StubServer, GrpcStubEnding, GrpcStubBehaviour {
  }

  /** How a method of gRPC behaves: as any endpoint ({@link StubBehaviour}); statuses are those of gRPC. */
  export interface GrpcStubBehaviour extends StubBehaviour {
    /** What goes wrong with a share of the calls: a status, a reset of the stream, or no response at all. */
    faults?: GrpcStubFault | readonly GrpcStubFault[];
    /** Bounds on rate and concurrency. Default: none. */
    limit?: GrpcStubLimit;
    /** Compress messages for clients that accept it. Default: false. */
    gzip?: boolean;
  }

  /** A share of calls, and what goes wrong with them. */
  export interface GrpcStubFault {
    /** How many of the calls: 0.01 or `"1%"`. */
    share: Share;
    /** A status, a reset of the stream, or no response at all. */
    fault: GrpcStatus | "reset" | "silence";
  }

  /** Bounds that a real server would have; each method has its own. */
  export interface GrpcStubLimit {
    /** Calls per second; those above it are rejected. */
    rate?: Rate;
    /** Calls that may come at once after a pause. Default: 1. */
    burst?: number;
    /** Calls served at once; the rest wait in line. */
    concurrent?: number;
    /** Calls that may wait; more are rejected. Default: any number may. */
    queue?: number;
    /** Status of the rejected. Default: RESOURCE_EXHAUSTED above the rate, UNAVAILABLE where the line is full. */
    reject?: GrpcStatus;
  }

  /** What stands around the messages of an answer. */
  export interface GrpcStubEnding {
    /** Default: OK. Another one comes without a message where the server does not stream. */
    status?: GrpcStatus;
    /** Words beside the status. */
    details?: string;
    /** Metadata before the messages: text, a list of texts, or bytes for names that end in `-bin`. */
    metadata?: { readonly [name: string]: string | readonly string[] | Uint8Array };
    /** Metadata behind them. */
    trailers?: { readonly [name: string]: string | readonly string[] | Uint8Array };
  }

  /** The messages of an answer. */
  export interface GrpcStubMessages<Answer = object> {
    /** The message, or the only one of a stream. Default: one without fields; of a stream: none. */
    message?: Answer;
    /** Where the server streams: all that it sends. */
    messages?: readonly Answer[];
    /** Time between one message and the next. Default: none. */
    every?: Duration;
  }

  /** How a method answers ({@link GrpcStubMessages}, {@link GrpcStubEnding}) and behaves ({@link GrpcStubBehaviour}). */
  export interface GrpcStubMethodOptions<Answer = object> extends GrpcStubMessages<Answer>, GrpcStubEnding, GrpcStubBehaviour {
  }

  /**
   * What the function of a method answers ({@link GrpcStubMessages}, {@link GrpcStubEnding}), in place of what its options say of messages, status and
   * trailers.
   */
  export interface GrpcStubAnswer<Answer = object> extends GrpcStubMessages<Answer>, GrpcStubEnding {
    /** In place of the method's. */
    delay?: Delay;
  }

  /** A simulated server of gRPC. */
  export interface GrpcStub {
    /** `http://127.0.0.1:50051`, also where any free port was asked for; `https://` with TLS. */
    readonly url: string;
    /**
     * Adds a method: `"package.Service/Method"`. It answers when all messages of a call are there. Where both sides stream, each message is answered as it
     * comes, and is a call of its own to faults, limits and signals. The function runs beside the stub, as those of {@link HttpStub.on}.
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

  /** A call that a stub received. Its first message, as JSON, is the body that values are taken out of. */
  export interface GrpcStubCall<Message = any> extends Extractable {
    /** As declared. */
    readonly method: string;
    /** The message, or the first of several; `undefined` where none came. */
    readonly message: Message;
    /** All of them. */
    readonly messages: readonly Message[];
    /** Metadata and other header fields of the call, names in lower case; values of names in `-bin` are base64. */
    readonly metadata: Headers;
    /** A field of the metadata, whatever the case of its name; `undefined` when it is missing. */
    header(name: string): string | undefined;
  }

  /** A simulated server of TCP: where it listens ({@link StubServer}), how it behaves ({@link StubBehaviour}), where requests end, and what it answers. */
  export interface TcpStubOptions extends StubServer, StubBehaviour {
    /** A request ends behind this text or these bytes. Without `until` and `length`, it is what has arrived together. */
    until?: string | Uint8Array;
    /** A request has so many bytes. */
    length?: number;
    /** What is said to whoever connects, at once. Default: nothing. */
    greeting?: string | Uint8Array;
    /** What every request is answered with. Default: nothing. */
    answer?: string | Uint8Array;
    /** Answer with the request. */
    echo?: boolean;
    /** Close the connection behind each answer. Default: false. */
    close?: boolean;
    /** What goes wrong with a share of the requests: a reset of the connection, or no answer, to this one and to those behind it. */
    faults?: TcpStubFault | readonly TcpStubFault[];
    /** Bounds on rate and concurrency; what is rejected is closed without an answer. Default: none. */
    limit?: { rate?: Rate; burst?: number; concurrent?: number; queue?: number };
  }

  /** A share of requests, and what goes wrong with them. */
  export interface TcpStubFault {
    /** How many of the requests: 0.01 or `"1%"`. */
    share: Share;
    /** A reset of the connection, or no answer at all. */
    fault: "reset" | "silence";
  }

  /** A simulated server of TCP. */
  export interface TcpStub {
    /** `127.0.0.1:9100`, also where any free port was asked for. */
    readonly address: string;
  }

  /** A request that a TCP stub received, with what ends it. */
  export interface TcpStubRequest extends Extractable {
    /** The bytes. */
    readonly bytes: Uint8Array;
  }

  /** What the function of a TCP stub answers. */
  export interface TcpStubAnswer {
    /** Default: as the options say. */
    answer?: string | Uint8Array;
    /** In place of the stub's. */
    delay?: Delay;
    /** Close the connection behind the answer. Default: as the options say. */
    close?: boolean;
  }

  /** What the function of a route answers. */
  export interface StubAnswer {
    /** HTTP status. Default: the route's. */
    status?: number;
    /** Header lines, beside the route's. */
    headers?: Headers;
    /** The body as text. */
    body?: string;
    /** The body as JSON, in place of `body`. */
    json?: unknown;
    /** In place of the route's. */
    delay?: Delay;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Hashing and encoding

  /** How bytes are written as text, or `bytes` for the bytes themselves. */
  export type Encoding = "hex" | "base64" | "base64url" | "bytes";

  /** Hash functions that requests are signed with. */
  export type HashName = "md5" | "sha1" | "sha256" | "sha512";

  /**
   * The hash of a text (as UTF-8) or of bytes. Default encoding: "hex".
   *
   * @example
   * hash("sha256", "hello")            // 2cf24dba…
   */
  export function hash(name: HashName, data: string | Uint8Array, encoding?: Exclude<Encoding, "bytes">): string;
  export function hash(name: HashName, data: string | Uint8Array, encoding: "bytes"): Uint8Array;

  /**
   * A keyed hash (HMAC), as request signatures use it. Default encoding: "hex".
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

  /** Bytes to text and back. */
  export interface Codec {
    /** Text (as UTF-8) or bytes, encoded. */
    encode(data: string | Uint8Array): string;
    /** The bytes that an encoded text stands for. Throws when it is malformed. Padding may be missing. */
    decode(text: string): Uint8Array;
    /** The same as text; bytes that are not UTF-8 become U+FFFD. */
    decodeText(text: string): string;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Observers
  // Observers read the system under test while the load runs: its processes, its database, its queues. Their signals lie on the load's clock and
  // stand beside it in the report; findings rest on them, and thresholds may speak of them.

  /** Something that reads the system under test while the load runs. Made by {@link observe}. */
  export interface Observer {
    readonly [brand]: "observer";
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
    /** What its signals' names begin with. Default: the kind; of a process, its port, pid or name as well. */
    name?: string;
    /** Time between readings, at least "10ms". Default: "1s". */
    every?: Duration;
  }

  /** Builders of observers. */
  export interface ObserverBuilder {
    /**
     * Local processes and their children: CPU, waiting for a core, memory, threads, descriptors, sockets by state, disk I/O. Found by the TCP port
     * that they listen on, by pid, or by the name of their command; looked up anew each time, so that a restart is seen.
     */
    process(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions): Observer;
    /** This machine: CPU by mode, steal, pressure stall, memory, disks, network. */
    host(options?: ObserverOptions): Observer;
    /** A control group, by its folder under /sys/fs/cgroup or by a process in it: CPU and its limit, throttling, memory, pressure stall. */
    cgroup(which: ({ path: string } | { pid: number }) & ObserverOptions): Observer;
    /**
     * A service on Node, through its inspector: the event loop's utilisation and delay, requests and handles by type, look-ups of names and files that wait
     * for Node's own threads, garbage collection, and which functions compute. Where the inspector is closed it is opened by SIGUSR1, and closed again after
     * the run, also when Loadstone is killed. `profileHz`: how often a second it is looked which function computes, 1 to 1000. Default: 99.
     */
    node(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { profileHz?: number }): Observer;
    /**
     * A service on a HotSpot JVM, as `jcmd` asks it: threads at work by what they wait for and where, garbage collection, the old generation. Run Loadstone
     * as the service's user or as root. `sampleHz`: how often a second all stacks are sampled, 1 to 20. Default: 4.
     */
    jvm(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A service in Go, where its `net/http/pprof` answers: goroutines at work by what they wait for and where, which functions compute, and, where the
     * service has them, whose locks are waited for (a mutex profile) and garbage collection (`expvar`). `sampleHz`: 1 to 20. Default: 5.
     */
    go(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A service in Python, by py-spy, on the path or beside the service's Python: threads at work by what they wait for and where, who has the interpreter's
     * lock, which functions compute. Run Loadstone as root, or where the system lets it trace the service. `sampleHz`: 1 to 10. Default: 2.
     */
    python(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * A service in C, C++, Rust, Go or anything else that is compiled, by the kernel's samples of its stacks: which functions compute. Needs nothing of the
     * service; Linux alone. Run Loadstone as the service's user or as root. `profileHz`: how often a second of CPU time it is looked which function computes,
     * 1 to 200. Default: 49.
     */
    native(which: ({ port: number } | { pid: number } | { name: string }) & ObserverOptions & { profileHz?: number }): Observer;
    /**
     * PostgreSQL: active sessions by wait event and by statement, who blocks whom, commits, rollbacks, rows, WAL, connections by state, and
     * `pg_stat_statements` where it is installed. Sessions are sampled `sampleHz` times a second, 1 to 50. Default: 10.
     */
    postgres(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * MySQL 8 and MariaDB: active sessions by wait event (the performance schema's, or by their state in the process list) and by statement, who blocks whom,
     * commits and how many share a flush, binary log and redo log, rows, connections by state, and statements by digest. `sampleHz` as with `postgres`.
     */
    mysql(url: string, options?: ObserverOptions & { sampleHz?: number }): Observer;
    /**
     * Redis: `INFO`, the lengths of the named lists and streams with the streams' consumer groups, and queues: Sidekiq's where it runs, those of BullMQ and
     * Celery by their names.
     */
    redis(
      url: string,
      options?: ObserverOptions & { lists?: readonly string[]; streams?: readonly string[]; bullmq?: readonly string[]; celery?: readonly string[] },
    ): Observer;
    /**
     * Kafka: messages written to each topic, how far each consumer group is behind, under-replicated partitions. `brokers`: "host:port", or several with
     * commas between. `topics` and `groups`: those that matter; where none is named, all, up to 64 of each.
     */
    kafka(options: ObserverOptions & { brokers: string; topics?: readonly string[]; groups?: readonly string[] }): Observer;
    /** A Prometheus or OpenMetrics endpoint over HTTP. `only`: names of metrics, where `*` stands for anything. */
    prometheus(url: string, options?: ObserverOptions & { only?: readonly string[] }): Observer;
    /**
     * Metrics as JSON over HTTP, Dropwizard's among them: every number, by its path. `only`: paths, where `*` stands for anything; `totals`: those of
     * numbers that only grow.
     */
    json(url: string, options?: ObserverOptions & { only?: readonly string[]; totals?: readonly string[] }): Observer;
    /** Listens for StatsD and DogStatsD packets. Default: "127.0.0.1:8125". */
    statsd(options?: ObserverOptions & { listen?: string }): Observer;
    /**
     * Receives the spans of services with OpenTelemetry, over HTTP and gRPC, and joins them with the load's requests, which carry a `traceparent` then.
     * `listen`: point the services' exporters there. Default: "127.0.0.1:4318". `forward`: another OTLP receiver over HTTP, which gets all that comes.
     * `link`: where your own store shows a trace, with `{trace}` for its id: the page links there.
     */
    traces(options?: ObserverOptions & { listen?: string; forward?: string; link?: string }): Observer;
    /** Any PostgreSQL query with one row: each of its columns that is a number becomes a signal. */
    sql(options: ObserverOptions & { url: string; query: string }): Observer;
    /**
     * A query whose rows are the keys of journeys that have started, reached a stage or finished lately, so that a flow can be followed
     * inside the system's own tables: first column the key, second (if there is one) how many seconds ago, by the database's clock. Let it look
     * back further than the time between readings: a key that the reading before had as well counts once.
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
   * A run's numbers and conclusions, as in summary.json (docs/summary-json.md). A test that exports a function `summarize` is given it when the run is
   * over, and returns files to write: their names, relative to where Loadstone was started, and their text. `loadstone run` lists them below its summary.
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
  // # Metrics of your own
  // What a test measures besides requests: values in a unit of its own, counts of its own, levels, shares. They are declared at the top level of the
  // file and recorded in scenarios. The terminal, the report, summary.json, exports and outputs have them, and thresholds judge them.

  /**
   * Declares metrics. The name is how reports call them, and is unique within the test; `unit` is shown beside the numbers.
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
    /** Values whose distribution matters. */
    trend(name: string, options?: MetricOptions): Trend;
    /** Something that adds up. */
    counter(name: string, options?: MetricOptions): Counter;
    /** A level that rises and falls. */
    gauge(name: string, options?: MetricOptions): Gauge;
    /** How often something is so. */
    rate(name: string, options?: MetricOptions): RateMetric;
  };

  /** What a metric may be given. */
  export interface MetricOptions {
    /** Shown beside its numbers: `"EUR"`, `"items"`. Default: none. */
    unit?: string;
  }

  /**
   * What tells things of one name apart: at most eight names with a value each. Reports and thresholds have the parts that carry certain tags beside
   * the whole. Give tags few values, and no ids: as many different sets of tags are kept apart as `seriesMax` says, and a run with more of them says so.
   */
  export type Tags = Readonly<Record<string, string | number | boolean>>;

  /** What may go with a value, a check or a group. */
  export interface RecordOptions {
    /** It counts under its name, and for the part of it with these tags. Tags of a group are not those of the requests in it. */
    tags?: Tags;
  }

  /** Chooses a part of a metric. */
  export interface MetricSelection {
    /** What carries at least these tags. */
    tags: Tags;
  }

  /** Values and their distribution, to 0.4 %; sum, minimum and maximum are exact. Thresholds take their bounds in the metric's unit. */
  export interface Trend extends ValueMetric {
    /** Records a value: any finite number. */
    add(value: number, options?: RecordOptions): void;
    /** How many values were recorded. */
    readonly count: Bounds<number>;
    /** A part of it, for thresholds. */
    where(selection: MetricSelection): Trend;
  }

  /** What adds up. */
  export interface Counter {
    /** Adds to it: 1, or a number of at least 0. */
    add(value?: number, options?: RecordOptions): void;
    /** What was added in all. */
    readonly sum: Bounds<number>;
    /** What was added per second. */
    readonly rate: Bounds<Rate>;
    /** A part of it, for thresholds. */
    where(selection: MetricSelection): Counter;
  }

  /** A level. */
  export interface Gauge extends LevelMetric {
    /** Says what the level is now. */
    set(value: number, options?: RecordOptions): void;
    /** A part of it, for thresholds. */
    where(selection: MetricSelection): Gauge;
  }

  /** How often something is so. */
  export interface RateMetric {
    /** Records whether it is so this time. */
    add(isSo: boolean, options?: RecordOptions): void;
    /** How often it was so. */
    readonly count: Bounds<number>;
    /** Its share of all that was recorded. */
    readonly rate: Bounds<Share>;
    /** A part of it, for thresholds. */
    where(selection: MetricSelection): RateMetric;
  }

  // ───────────────────────────────────────────────────────────────────────────
  // # Thresholds
  // Objectives: a metric, what is taken of it, and a bound. The whole run counts unless `over` or `after` say otherwise. A threshold
  // over nothing measured fails. A run in which a script threw fails unless {@link scriptErrors} is given more room.

  /**
   * Which measurements count: all, those of one request or group by name, or a combination.
   *
   * @example
   * responseTime()                                        // every request
   * responseTime("Create ticket")                         // requests of that name
   * responseTime({ scenario: "Buy", group: "Check out" }) // requests inside that group of that scenario
   * responseTime({ name: "Search", tags: { type: "static" } }) // requests of that name which carry at least that tag
   */
  export type Selection = string | { name?: string; scenario?: string; group?: string; tags?: Tags };

  /** Time from when a request was due (open load) or started to its last byte: the headline. */
  export function responseTime(of?: Selection): TimeMetric;
  /** Time from a request's start to its last byte. */
  export function serviceTime(of?: Selection): TimeMetric;
  /** How late requests were started: the generator's own delay and the wait for a free user. */
  export function scheduleLag(of?: Selection): TimeMetric;
  /** Time of a group, declared pauses left out. */
  export function groupTime(name: string): TimeMetric;
  /** Time of whole iterations, of one scenario or all. In open load it counts from when an iteration was due. */
  export function iterationDuration(of?: string | { scenario?: string }): TimeMetric;
  /** Requests that ended: their count, and their rate per second. */
  export function requests(of?: Selection): CountMetric<number, Rate>;
  /** Requests that failed: their count, and as `rate` their share of all. */
  export function failures(of?: Selection): CountMetric<number, Share>;
  /** The earlier name of {@link iterations} for thresholds. */
  export function iterationCount(of?: string | { scenario?: string }): IterationMetric;
  /**
   * Errors that iterations threw and nothing caught, of one scenario or all: their count, and as `rate` relative to the iterations that ended. What is
   * thrown after a request of the iteration failed is a consequence of that, and not counted. A test
   * without a threshold on them has `scriptErrors().count.equals(0)`; one with it says itself how many may be.
   *
   * @example
   * scriptErrors().rate.below("1%")
   */
  export function scriptErrors(of?: string | { scenario?: string }): CountMetric<number, Share>;
  /**
   * Checks, of one name or all: how many were made, and which part of them passed or failed.
   *
   * @example
   * checks().failed.count.equals(0)
   * checks("a ticket came").passed.rate.atLeast("99%")
   */
  export function checks(of?: Selection): CheckMetric;

  /**
   * A signal of an observer, by its full name as the report shows it. A counter (CPU time, commits) counts by its growth per second. Where the
   * observer saw other labels of the metric but never this one, it was 0.
   *
   * @example
   * signal("process:8080/cpu").mean.below(0.8)
   * signal("postgres/sessions{wait=Lock:tuple}").max.below(5)
   */
  export function signal(name: string): SignalMetric;

  /** What can be taken of measured times. */
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

  /** What can be taken of counts. */
  export interface CountMetric<Count, Relative> {
    /** How many. */
    readonly count: Bounds<Count>;
    /** Relative to time or to the whole: per second, or as a share. */
    readonly rate: Bounds<Relative>;
  }

  /** What can be taken of iterations. */
  export interface IterationMetric extends CountMetric<number, Rate> {
    /** Those that failed: a script error, or a failed request. Their count, and as `rate` their share. */
    readonly failed: CountMetric<number, Share>;
  }

  /** What can be taken of checks. */
  export interface CheckMetric {
    /** How many were made. */
    readonly count: Bounds<number>;
    /** Those that held: their count, and as `rate` their share. */
    readonly passed: CountMetric<number, Share>;
    /** Those that did not hold: their count, and as `rate` their share. */
    readonly failed: CountMetric<number, Share>;
  }

  /** What can be taken of a level. */
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

  /** What can be taken of numbers that have a distribution. */
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

  /** What can be taken of a signal: of its readings, or of a counter's growth per second from one reading to the next. Bounds are in its own unit. */
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
    /** Every window of this length, back to back, must hold, instead of the run as a whole. Whole seconds. */
    over(window: Duration): Threshold;
    /** Leaves out the first part of the run: warm-up. Whole seconds. */
    after(warmUp: Duration): Threshold;
    /** Stops the run as soon as the threshold is certain to fail. */
    abortEarly(): Threshold;
  }

  // What is not marked `export` stays inside.
  export {};
}

// ─────────────────────────────────────────────────────────────────────────────
// # Globals
// What every script has without importing it. Standard JavaScript (ES2023) is there as well, and so are `performance.now()` and modules
// of pure JavaScript from node_modules.

/** Writes lines to the terminal and to the run's log; objects are shown on one line. */
interface Console {
  /** Writes a line. */
  log(...values: unknown[]): void;
  /** Writes a line. */
  info(...values: unknown[]): void;
  /** Writes a line of detail. */
  debug(...values: unknown[]): void;
  /** Writes a warning. */
  warn(...values: unknown[]): void;
  /** Writes an error. */
  error(...values: unknown[]): void;
}
declare var console: Console;

/** Runs a function once, after a number of milliseconds. */
declare function setTimeout<A extends unknown[]>(run: (...values: A) => void, milliseconds?: number, ...values: A): number;
/** Runs a function again and again, every so many milliseconds, until it is cleared or the run ends. */
declare function setInterval<A extends unknown[]>(run: (...values: A) => void, milliseconds?: number, ...values: A): number;
/** Cancels what {@link setTimeout} began. */
declare function clearTimeout(timer: number | undefined): void;
/** Cancels what {@link setInterval} began. */
declare function clearInterval(timer: number | undefined): void;
/** Runs a function after the present one, before anything else. */
declare function queueMicrotask(run: () => void): void;
/** A deep copy: plain objects, lists, maps, sets, dates, errors, regular expressions and bytes; functions throw. */
declare function structuredClone<T>(value: T): T;
/** Text of Latin-1 characters to base64. For bytes and other text see `base64` of "loadstone". */
declare function btoa(text: string): string;
/** Base64 to text of Latin-1 characters. */
declare function atob(base64: string): string;

/** Randomness in the shape of the Web's `crypto`, but from the run's seed: it repeats, and is no secret. Hashes: `hash` and `hmac` of "loadstone". */
interface Crypto {
  /** A random UUID (version 4). */
  randomUUID(): string;
  /** Fills an array with random values and returns it. */
  getRandomValues<T extends Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array>(array: T): T;
}
declare var crypto: Crypto;

/** Milliseconds since the script engine was started, with fractions. */
declare var performance: { now(): number };

/** Text to UTF-8 bytes. */
declare class TextEncoder {
  /** Always `"utf-8"`. */
  readonly encoding: string;
  /** The UTF-8 bytes of a text. */
  encode(text?: string): Uint8Array;
}

/** UTF-8 bytes to text. Other encodings are not there. */
declare class TextDecoder {
  /** A decoder of UTF-8. `fatal` throws on bytes that are not; `ignoreBOM` keeps a byte order mark. */
  constructor(encoding?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  /** Always `"utf-8"`. */
  readonly encoding: string;
  /** Whether bytes that are not UTF-8 throw. */
  readonly fatal: boolean;
  /** Whether a byte order mark is kept. */
  readonly ignoreBOM: boolean;
  /** The text of these bytes. */
  decode(bytes?: Uint8Array | ArrayBuffer): string;
}

/** A URL and its parts, as the WHATWG standard defines them. */
declare class URL {
  /** Parses a URL, relative to `base` where one is given. Throws when it is not one. */
  constructor(url: string | URL, base?: string | URL);
  /** Whether `new URL(…)` would succeed. */
  static canParse(url: string | URL, base?: string | URL): boolean;
  /** The URL, or `null` when it is not one. */
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
  /** Host name and, unless it is the default, port. */
  host: string;
  /** Host name without the port. */
  hostname: string;
  /** Port; empty where it is the default. */
  port: string;
  /** Path, beginning with `/`. */
  pathname: string;
  /** Query with its `?`; empty when there is none. */
  search: string;
  /** The query as names and values; changing it changes the URL. */
  readonly searchParams: URLSearchParams;
  /** Fragment with its `#`; empty when there is none. */
  hash: string;
  /** The whole URL. */
  toString(): string;
  /** The whole URL. */
  toJSON(): string;
}

/** The query of a URL, as the WHATWG standard defines it. */
declare class URLSearchParams implements Iterable<[string, string]> {
  /** Reads a query string, an object of names and values, or pairs. */
  constructor(init?: string | Readonly<Record<string, string>> | Iterable<readonly [string, string]> | URLSearchParams);
  /** How many pairs. */
  readonly size: number;
  /** Adds a pair. */
  append(name: string, value: string): void;
  /** Removes all pairs of a name, or those with this value. */
  delete(name: string, value?: string): void;
  /** The first value of a name; `null` when there is none. */
  get(name: string): string | null;
  /** All values of a name. */
  getAll(name: string): string[];
  /** Whether there is a pair of this name, and value where given. */
  has(name: string, value?: string): boolean;
  /** Replaces all pairs of a name by one. */
  set(name: string, value: string): void;
  /** Sorts the pairs by name. */
  sort(): void;
  /** Calls a function for each pair. */
  forEach(visit: (value: string, name: string, all: URLSearchParams) => void): void;
  /** The names, one for each pair. */
  keys(): IterableIterator<string>;
  /** The values, one for each pair. */
  values(): IterableIterator<string>;
  /** The pairs. */
  entries(): IterableIterator<[string, string]>;
  /** The pairs. */
  [Symbol.iterator](): IterableIterator<[string, string]>;
  /** The query as text, without `?`. */
  toString(): string;
}
