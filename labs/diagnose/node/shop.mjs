// The little shop on Node: list, item, login, buy, report. Its database is PostgreSQL; a Redis before it, if there is one, keeps items for a while.

import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import pg from "pg";
import { createClient } from "redis";
import { Faults, Refused } from "./faults.mjs";

const settings = JSON.parse(process.env.FAULT ?? "{}");
const faults = new Faults(settings);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: settings.pool ?? 20 });
const provider = new http.Agent({ keepAlive: true, maxSockets: settings.sockets ?? Infinity });
const cache = process.env.REDIS_URL ? await createClient({ url: process.env.REDIS_URL }).on("error", () => {}).connect() : undefined;
/** Seconds for which an item stays in the cache. */
const keep = settings.keep ?? 60;

const handlers = {
  "GET /list": ["List", async () => (await pool.query("select id, name, price from products order by id limit 20")).rows],
  "GET /item": ["Item", (url) => item(url.searchParams.get("code"))],
  "POST /login": ["Login", async () => ({ session: faults.login() })],
  "POST /buy": ["Buy", buy],
  "GET /report": ["Report", report],
};

async function item(code) {
  const known = cache && (await cache.get(`item:${code}`));
  if (known) return JSON.parse(known);
  const { rows } = await pool.query("select id, name, price from products where code = $1", [code]);
  await cache?.set(`item:${code}`, JSON.stringify(rows[0]), { EX: keep });
  return rows[0];
}

async function buy() {
  if (!(await paid())) throw new Refused(504);
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
    client.release();
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
  if (!settings.statements) return (await pool.query("select category, sum(price) from products where id <= 100 group by category")).rows;
  const sums = {};
  for (let id = 1; id <= settings.statements; id++) {
    const [row] = (await pool.query("select category, price from products where id = $1", [1 + (id % 1000)])).rows;
    sums[row.category] = (sums[row.category] ?? 0) + row.price;
  }
  return sums;
}

function metrics() {
  const gauges = { size: settings.pool ?? 20, connections: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount };
  return Object.entries(gauges).map(([name, value]) => `# TYPE db_pool_${name} gauge\ndb_pool_${name} ${value}\n`).join("");
}

async function serve(request, response) {
  const url = new URL(request.url, "http://shop");
  if (url.pathname === "/metrics") return response.end(metrics());
  const handler = handlers[`${request.method} ${url.pathname}`];
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
  response.end(text);
}

const secure = settings.tls && { key: readFileSync(`${process.env.TLS}.key`), cert: readFileSync(`${process.env.TLS}.crt`) };
const server = secure ? https.createServer(secure, serve) : http.createServer({ noDelay: !settings.nagle }, serve);
server.keepAliveTimeout = 60_000;
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => console.log(`listening ${server.address().port}`));
