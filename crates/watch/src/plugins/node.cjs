// Writes each request to the file LOADSTONE_RECORD, as `loadstone watch` reads it. Loadstone adds this file to NODE_OPTIONS.
"use strict";

const { channel } = require("node:diagnostics_channel");
const fs = require("node:fs");
const Module = require("node:module");
const { isMainThread } = require("node:worker_threads");

// A write of at most this size is not mixed with those of other threads (PIPE_BUF).
const WRITE_BYTES_MAX = 4096;
const WRITE_EVERY_MS = 100;
// Date.now() has whole milliseconds. What differs more is an adjustment of the wall clock.
const CLOCK_DIFFERENCE_MS_MAX = 2;

let record;
let waiting = [];
let waitingBytes = 0;
const now = () => performance.now();
let wallOfZeroMs = performance.timeOrigin;

// The wall clock in microseconds.
function wall() {
  const difference = Date.now() + 0.5 - (wallOfZeroMs + now());
  if (Math.abs(difference) > CLOCK_DIFFERENCE_MS_MAX) wallOfZeroMs += difference;
  return wallOfZeroMs + now();
}

function flush() {
  if (waiting.length === 0) return;
  const lines = Buffer.concat(waiting);
  [waiting, waitingBytes] = [[], 0];
  for (let at = 0; at < lines.length; ) {
    try {
      // A process without requests, such as npx, never opens the record.
      record ??= fs.openSync(process.env.LOADSTONE_RECORD, "a");
      at += fs.writeSync(record, lines, at);
    } catch (error) {
      // The reader has gone: the test goes on without a record.
      if (error.code !== "EAGAIN") return;
    }
  }
}

function write(milliseconds, method, path, status, bytes, error, statedMs) {
  const values = [method, String(path).slice(0, 500), status, bytes, String(error).slice(0, 300)];
  const line = Buffer.from(`${JSON.stringify(["r", wall() / 1000, milliseconds, ...values, statedMs])}\n`);
  if (waitingBytes + line.length > WRITE_BYTES_MAX) flush();
  waiting.push(line);
  waitingBytes += line.length;
}

setInterval(flush, WRITE_EVERY_MS).unref();
process.on("exit", flush);

// Artillery sends from worker threads, by Node's http module. Its main thread sends usage statistics.
if (!isMainThread) {
  const started = new WeakMap();
  const finish = (request, status, bytes, error) => {
    const times = started.get(request);
    if (times === undefined) return;
    started.delete(request);
    // Artillery counts from the end of sending to the head of the response.
    const statedMs = times.head === undefined ? null : times.head - (times.sent ?? times.began);
    write(now() - times.began, request.method, request.path, status, bytes, error, statedMs);
  };
  channel("http.client.request.start").subscribe(({ request }) => {
    const times = { began: now() };
    started.set(request, times);
    request.once("finish", () => (times.sent = now()));
    request.once("error", (error) => finish(request, 0, 0, `${error.code ?? error.name}: ${error.message}`));
  });
  channel("http.client.response.finish").subscribe(({ request, response }) => {
    const times = started.get(request);
    if (times !== undefined) times.head = now();
    const end = () => finish(request, response.statusCode, Number(response.headers["content-length"] ?? 0), "");
    response.once("end", end);
    response.once("close", end);
  });
}

// autocannon has its own client, which reports the time of each response.
const load = Module._load;
Module._load = function (request, parent, ...rest) {
  const loaded = load.call(this, request, parent, ...rest);
  if (request !== "./httpClient" || !/autocannon[\\/]lib[\\/]run\.js$/.test(parent?.filename ?? "")) return loaded;
  return function (options) {
    const client = new loaded(options);
    const { method = "GET", path = "/" } = options.requests?.length === 1 ? { ...options, ...options.requests[0] } : options;
    client.on("response", (status, bytes, milliseconds) => write(milliseconds, method, path, status, bytes, "", null));
    client.on("connError", (error) => write(0, method, path, 0, 0, `${error.code ?? error.name}: ${error.message}`, null));
    client.on("timeout", () => write(1000 * (options.timeout ?? 10), method, path, 0, 0, "timeout", null));
    return client;
  };
};
