// The little shop on Node: list, item, login, buy, report. Its database is PostgreSQL; a Redis before it, if there is one, keeps items for a while.

import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { PerformanceObserver } from "node:perf_hooks";
import pg from "pg";
import { createClient } from "redis";
import { Faults, Refused } from "./faults.mjs";

const settings = JSON.parse(process.env.FAULT ?? "{}");
const faults = new Faults(settings);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: settings.pool ?? 20 });
const provider = new http.Agent({ keepAlive: !settings.lookup, maxSockets: settings.sockets ?? Infinity });
const cache = process.env.REDIS_URL ? await createClient({ url: process.env.REDIS_URL }).on("error", () => {}).connect() : undefined;
/** Seconds for which an item stays in the cache. */
const keep = settings.keep ?? 60;

const handlers = {
  "GET /list": ["List", list],
  "GET /item": ["Item", (url) => item(url.searchParams.get("code"))],
  "POST /login": ["Login", async () => ({ session: faults.login() })],
  "POST /buy": ["Buy", buy],
  "GET /report": ["Report", report],
};

async function list() {
  const products = async () => (await pool.query("select id, name, price from products order by id limit 20")).rows;
  if (settings.body) return { products: await products(), picture: "x".repeat(settings.body) };
  const { stampede } = settings;
  return stampede ? cached("list", stampede.every * 1000, products, stampede.ms) : products();
}

async function item(code) {
  const { cold } = settings;
  // What takes long to make is kept by category, of which there are few.
  if (cold) await cached(`category:${Number(code.slice(1)) % cold.kinds}`, 3_600_000, () => [], cold.ms);
  const product = async () => (await pool.query("select id, name, price from products where code = $1", [code])).rows[0];
  return cache ? cached(`item:${code}`, keep * 1000, product) : product();
}

/** From the cache; what is not there takes so much longer to make, for everybody who asks until it is. */
async function cached(key, keepMs, make, ms) {
  const known = await cache.get(key);
  if (known) return JSON.parse(known);
  if (ms) await pool.query("select pg_sleep($1)", [ms / 1000]);
  const made = await make();
  await cache.set(key, JSON.stringify(made), { PX: keepMs });
  return made;
}

async function buy() {
  let asked = 0;
  while (!(await paid())) if (asked++ >= (settings.retries ?? 0)) throw new Refused(504);
  const client = await pool.connect();
  try {
    await client.query("begin");
    const product = settings.rowLock ? 1 : 1 + Math.floor(Math.random() * 1000);
    await client.query("update products set stock = stock - 1 where id = $1", [product]);
    const wait = settings.rowLock ?? settings.query;
    if (wait) await client.query("select pg_sleep($1)", [wait / 1000]);
    const { rows } = await client.query("insert into orders (product) values ($1) returning id", [product]);
    await client.query("commit");
    return { order: rows[0].id };
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    if (!(Math.random() < settings.unreturned)) client.release();
  }
}

/** Asks the payment provider; false where it takes too long. */
function paid() {
  return new Promise((resolve, reject) => {
    const call = http.get(`${process.env.PROVIDER_URL}/pay`, { agent: provider }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode === 200));
    });
    if (settings.timeout) call.setTimeout(settings.timeout, () => call.destroy());
    call.once("error", (error) => (settings.timeout ? resolve(false) : reject(error)));
  });
}

async function report() {
  for (let product = 1; product <= settings.commits; product++) await pool.query("insert into orders (product) values ($1)", [product]);
  if (!settings.statements) return (await pool.query("select category, sum(price) from products where id <= 100 group by category")).rows;
  const sums = {};
  for (let id = 1; id <= settings.statements; id++) {
    const [row] = (await pool.query("select category, price from products where id = $1", [1 + (id % 1000)])).rows;
    sums[row.category] = (sums[row.category] ?? 0) + row.price;
  }
  return sums;
}

/** Milliseconds spent collecting garbage, as prom-client counts them. */
let collecting = 0;
new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => (collecting += duration))).observe({ entryTypes: ["gc"] });

function metrics() {
  const gauges = { size: settings.pool ?? 20, connections: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount };
  const pools = Object.entries(gauges).map(([name, value]) => `# TYPE db_pool_${name} gauge\ndb_pool_${name} ${value}\n`).join("");
  return `${pools}# TYPE nodejs_gc_duration_seconds_sum counter\nnodejs_gc_duration_seconds_sum ${collecting / 1000}\n`;
}

async function serve(request, response) {
  const url = new URL(request.url, "http://shop");
  if (url.pathname === "/metrics") return response.end(metrics());
  const handler = handlers[`${request.method} ${url.pathname}`];
  const { socket } = request;
  // As if the connection had been idle for too long, and its end had crossed the request.
  if (performance.now() - socket.answered >= settings.idle?.ms && Math.random() < settings.idle.share) return socket.resetAndDestroy();
  request.resume();
  let [status, body] = [404, {}];
  try {
    if (handler) [status, body] = [200, await faults.around(handler[0], () => handler[1](url))];
  } catch (error) {
    [status, body] = [error instanceof Refused ? error.status : 500, { error: error.message }];
  }
  const text = JSON.stringify(body);
  if (settings.close) response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  // Two small writes on a connection that waits for acknowledgements: the second goes out when the client's delayed one has come.
  if (settings.nagle) response.flushHeaders();
  response.end(text, () => (socket.answered = performance.now()));
}

const secure = settings.tls && { key: readFileSync(`${process.env.TLS}.key`), cert: readFileSync(`${process.env.TLS}.crt`) };
const server = secure ? https.createServer(secure, serve) : http.createServer({ noDelay: !settings.nagle }, serve);
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: 0, backlog: settings.backlog ?? 4096 }, () => console.log(`listening ${server.address().port}`));
