// The same test as ../../validation.load.ts, for k6. Feeds on the same barcodes.csv.
//
//   k6 run -e VALIDATORS=3400 -e RUN_TIME_SECONDS=120 labs/tickets/peers/k6/validation.js
import { WebSocket } from "k6/experimental/websockets";
import { check } from "k6";
import exec from "k6/execution";
import { SharedArray } from "k6/data";
import { Counter, Rate, Trend } from "k6/metrics";

const target = (__ENV.TARGET || "ws://127.0.0.1:8081") + "/validate/json/v1";
const validators = Number(__ENV.VALIDATORS || 3400);
const tapsPerMinute = Number(__ENV.TAPS_PER_MINUTE || 25);
const runTime = Number(__ENV.RUN_TIME_SECONDS || 120);
const rampUp = Number(__ENV.RAMP_UP_SECONDS || 30);

const barcodes = new SharedArray("barcodes", () =>
  open("../../barcodes.csv")
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => line.split(",")[2]),
);
const tapTime = new Trend("tap_time", true);
const taps = new Counter("taps");
const failed = new Rate("failed");

export const options = {
  scenarios: {
    validators: {
      executor: "ramping-vus",
      startVUs: 0,
      stages: [
        { duration: `${rampUp}s`, target: validators },
        { duration: `${runTime}s`, target: validators },
      ],
      gracefulStop: "30s",
    },
  },
  thresholds: {
    taps: ["count>=1000"],
    tap_time: ["max<=500", "p(99)<50"],
    failed: ["rate==0"],
  },
};

export default function () {
  const socket = new WebSocket(target);
  let tapped = 0;
  let waiting = false;
  let turn = exec.vu.idInTest;
  let timer;

  function tap() {
    if (exec.instance.currentTestRunDuration >= (rampUp + runTime) * 1000) return socket.close();
    if (waiting) return;
    waiting = true;
    tapped = Date.now();
    socket.send(`tap\n${JSON.stringify({ barcode: barcodes[turn++ % barcodes.length] })}`);
  }

  socket.addEventListener("open", () => {
    socket.send(`init\n${JSON.stringify({ validator: `validator-${exec.vu.idInTest}` })}`);
  });
  socket.addEventListener("message", ({ data }) => {
    if (data.startsWith("init-response")) {
      timer = setInterval(tap, 60000 / tapsPerMinute);
      return tap();
    }
    if (!data.startsWith("tap-response")) return;
    waiting = false;
    tapTime.add(Date.now() - tapped);
    taps.add(1);
    const access = /"access" *: *(true|false)/.exec(data);
    const ticket = /"ticket" *: *"([^"]*)"/.exec(data);
    failed.add(!check(access, { "lets the traveller in": (found) => found !== null && found[1] === "true" }));
    socket.send(`notify\n${JSON.stringify({ ticket: ticket[1], access: access[1] === "true", confirm: false })}`);
  });
  socket.addEventListener("error", () => failed.add(true));
  socket.addEventListener("close", () => clearInterval(timer));
}
