// The module "k6/experimental/redis".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("redis");

/** Time limits of go-redis, in milliseconds. */
const READ_TIMEOUT_MS = 3000;

const CLIENT_OPTIONS = ["socket", "username", "password", "clientName", "database", "maxRetries", "minRetryBackoff", "maxRetryBackoff"];
const SOCKET_OPTIONS = [
  "host", "port", "tls", "dialTimeout", "readTimeout", "writeTimeout", "poolSize", "minIdleConns", "maxConnAge", "poolTimeout", "idleTimeout",
  "idleCheckFrequency",
];
const only = (options: any, names: string[]) => {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`invalid options; reason: json: unknown field "${unknown}"`);
};

const SENTINEL_OPTIONS = ["masterName", "sentinelUsername", "sentinelPassword"];
const CLUSTER_OPTIONS = ["nodes", "maxRedirects", "readOnly", "routeByLatency", "routeRandomly"];
/** What go-redis follows. */
const REDIRECTS_MAX = 3;

const pem = (value: any): string | undefined => (value === undefined || value === null ? undefined : typeof value === "string" ? value : k6.text(value));

/** A server, in the form of the native function. */
const addressOf = (options: any, more: string[] = []): any => {
  if (typeof options === "string") return { url: options, timeout: READ_TIMEOUT_MS };
  if (typeof options !== "object" || options === null) throw new Error(`invalid options type: ${typeof options}; expected string or object`);
  only(options, [...CLIENT_OPTIONS, ...more]);
  const { socket, username = "", password, database = 0 } = options;
  if (typeof socket !== "object" || socket === null) throw new Error("invalid options; reason: empty socket options");
  only(socket, SOCKET_OPTIONS);
  const { ca = [], cert, key } = socket.tls ?? {};
  return {
    host: String(socket.host ?? ""),
    port: Number(socket.port ?? 0),
    tls: socket.tls !== undefined && socket.tls !== null,
    tlsOptions: { authorities: (Array.isArray(ca) ? ca : [ca]).map(pem), certificate: pem(cert), key: pem(key) },
    username: String(username),
    password: password === undefined || password === "" ? undefined : String(password),
    database: Number(database),
    timeout: Number(socket.readTimeout) || READ_TIMEOUT_MS,
  };
};

/** The primary that a sentinel at the address names. */
const sentinelOf = (options: any): any => {
  const { masterName, sentinelUsername = "", sentinelPassword = "" } = options;
  const server = addressOf(options, SENTINEL_OPTIONS);
  return {
    nodes: [server],
    primary: String(masterName),
    sentinelUsername: String(sentinelUsername),
    sentinelPassword: sentinelPassword === "" ? undefined : String(sentinelPassword),
    timeout: server.timeout,
  };
};

/** A client: one server, a cluster, or a server that a sentinel names. */
const clientOf = (options: any): any => {
  const cluster = options?.cluster;
  if (cluster === undefined || cluster === null) {
    if (typeof options === "object" && options !== null && options.masterName !== undefined) return sentinelOf(options);
    const server = addressOf(options);
    return { nodes: [server], timeout: server.timeout };
  }
  if (!Array.isArray(cluster.nodes)) throw new Error(`invalid options; reason: cluster nodes property must be an array; got ${typeof cluster.nodes}`);
  if (cluster.nodes.length === 0) throw new Error("invalid options; reason: cluster nodes property cannot be empty");
  only(cluster, CLUSTER_OPTIONS);
  const nodes = cluster.nodes.map((node: any) => addressOf(node));
  const reads = cluster.routeByLatency ? "closest" : cluster.routeRandomly ? "random" : cluster.readOnly ? "replica" : "primary";
  return { nodes, redirects: Number(cluster.maxRedirects ?? REDIRECTS_MAX), reads, timeout: nodes[0].timeout };
};

const isSupported = (value: any) => ["string", "number", "boolean"].includes(typeof value);
const textOf = (value: any): string => (typeof value === "boolean" ? (value ? "1" : "0") : String(value));

const NIL = "redis: nil";
/** As k6 shows it, its text has no name of a class. */
class RedisError extends Error {
  override name = "";
}
const same = (value: any) => value;
/** A reply without a value is an error. */
const present = (value: any) => {
  if (value === null) throw new RedisError(NIL);
  return value;
};
const isOne = (value: any) => value === 1;
const pairs = (flat: string[]): Record<string, string> => {
  const object: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2)
    Object.defineProperty(object, flat[at], { value: flat[at + 1], enumerable: true, writable: true, configurable: true });
  return object;
};

export class Client {
  #number: number;

  constructor(...options: any[]) {
    if (options.length !== 1) throw new Error("must specify one argument");
    this.#number = k6.redisClient(clientOf(options[0]));
  }

  /** `checked`: the first of the words whose type is checked. `before`: arguments of the script's call that are none of the words. */
  #send(name: string, words: any[], convert: (value: any) => any = same, checked = words.length, before = 0): Promise<any> {
    return new Promise((resolve, reject) => {
      const wrong = words.findIndex((word, place) => place >= checked && !isSupported(word));
      if (wrong >= 0) {
        reject(new RedisError(`unsupported type provided for argument at index ${wrong + before}, supported types are string, number, and boolean`));
        return;
      }
      const done = ({ error, value }: any) => {
        try {
          if (error !== undefined) throw new RedisError(error);
          resolve(convert(value));
        } catch (problem) {
          reject(problem);
        }
      };
      k6.redisSend(k6.register(done), this.#number, [name, ...words.map(textOf)]);
    });
  }

  isConnected(): boolean {
    return k6.redisConnected(this.#number);
  }

  set(key: string, value: any, expiration?: number) {
    const seconds = Number(expiration ?? 0);
    if (!isSupported(value)) return this.#send("SET", [key, value], same, 1);
    return this.#send("SET", seconds > 0 ? [key, value, "EX", seconds] : [key, value]);
  }
  get(key: string) { return this.#send("GET", [key], present); }
  getSet(key: string, value: any) { return this.#send("GETSET", [key, value], present, 1); }
  del(...keys: string[]) { return this.#send("DEL", keys); }
  getDel(key: string) { return this.#send("GETDEL", [key], present); }
  exists(...keys: string[]) { return this.#send("EXISTS", keys); }
  incr(key: string) { return this.#send("INCR", [key]); }
  incrBy(key: string, increment: number) { return this.#send("INCRBY", [key, increment]); }
  decr(key: string) { return this.#send("DECR", [key]); }
  decrBy(key: string, decrement: number) { return this.#send("DECRBY", [key, decrement]); }
  randomKey() { return this.#send("RANDOMKEY", [], present); }
  mget(...keys: string[]) { return this.#send("MGET", keys); }
  expire(key: string, seconds: number) { return this.#send("EXPIRE", [key, seconds], isOne); }
  /** As in k6, -1 and -2 are shown as nanoseconds. */
  ttl(key: string) { return this.#send("TTL", [key], (seconds) => (seconds < 0 ? seconds / 1e9 : seconds)); }
  persist(key: string) { return this.#send("PERSIST", [key], isOne); }
  lpush(key: string, ...values: any[]) { return this.#send("LPUSH", [key, ...values], same, 1); }
  rpush(key: string, ...values: any[]) { return this.#send("RPUSH", [key, ...values], same, 1); }
  lpop(key: string) { return this.#send("LPOP", [key], present); }
  rpop(key: string) { return this.#send("RPOP", [key], present); }
  lrange(key: string, start: number, stop: number) { return this.#send("LRANGE", [key, start, stop]); }
  lindex(key: string, index: number) { return this.#send("LINDEX", [key, index], present); }
  lset(key: string, index: number, element: string) { return this.#send("LSET", [key, index, element]); }
  lrem(key: string, count: number, value: string) { return this.#send("LREM", [key, count, value]); }
  llen(key: string) { return this.#send("LLEN", [key]); }
  hset(key: string, field: string, value: any) { return this.#send("HSET", [key, field, value], same, 2); }
  hsetnx(key: string, field: string, value: string) { return this.#send("HSETNX", [key, field, value], isOne); }
  hget(key: string, field: string) { return this.#send("HGET", [key, field], present); }
  hdel(key: string, ...fields: string[]) { return this.#send("HDEL", [key, ...fields]); }
  hgetall(key: string) { return this.#send("HGETALL", [key], pairs); }
  hkeys(key: string) { return this.#send("HKEYS", [key]); }
  hvals(key: string) { return this.#send("HVALS", [key]); }
  hlen(key: string) { return this.#send("HLEN", [key]); }
  hincrby(key: string, field: string, increment: number) { return this.#send("HINCRBY", [key, field, increment]); }
  sadd(key: string, ...members: any[]) { return this.#send("SADD", [key, ...members], same, 1); }
  srem(key: string, ...members: any[]) { return this.#send("SREM", [key, ...members], same, 1); }
  sismember(key: string, member: any) { return this.#send("SISMEMBER", [key, member], isOne, 1); }
  smembers(key: string) { return this.#send("SMEMBERS", [key]); }
  srandmember(key: string) { return this.#send("SRANDMEMBER", [key], present); }
  spop(key: string) { return this.#send("SPOP", [key], present); }
  sendCommand(command: string, ...args: any[]) { return this.#send(String(command), args, present, 0, 1); }
}

export default { Client };
