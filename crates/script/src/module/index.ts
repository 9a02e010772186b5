// The module that scenarios import as "loadstone".
import "loadstone:extract";
import "loadstone:lenient";
export { collect, csv, file, generator, json, jsonl, proto, random, rows, shared, template, uniqueId } from "loadstone:data";
export { base64, base64url, hash, hex, hmac } from "loadstone:encoding";
export { arrivals, atOnce, iterations, once, parallel, scenario, sequence, setup, teardown, users } from "loadstone:load";
export { flow } from "loadstone:flows";
export { knob } from "loadstone:knobs";
export { metric } from "loadstone:metrics";
export { proxy } from "loadstone:proxies";
export {
  checks, failures, flowBacklog, flowLost, flowTime, groupTime, iterationCount, iterationDuration, requests, responseTime, scheduleLag,
  scriptErrors, serviceTime, signal,
} from "loadstone:thresholds";
export { stub } from "loadstone:stubs";
export { observe, param, secret, test, watch } from "loadstone:test";
export { milliseconds } from "loadstone:values";
