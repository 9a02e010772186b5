// A service of prices, `node shop.cjs`, and the shop that asks it, `node shop.cjs http://127.0.0.1:PORT`; both say where they listen.
//
// Nothing in here knows of traces: OpenTelemetry's automatic instrumentation is loaded before it. `GET /list` asks for one price after another,
// `GET /checkout` needs one of two places before it may ask, and `GET /price` takes 20 ms.
"use strict";
const http = require("node:http");

const prices = process.argv[2];
const PLACES = 2;

const agent = new http.Agent({ keepAlive: true });
let free = PLACES;
const waiting = [];

async function withPlace(work) {
  if (free > 0) free -= 1;
  else await new Promise((go) => waiting.push(go));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }
}

function price(item) {
  return new Promise((resolve, reject) => {
    const request = http.get(`${prices}/price?item=${item}`, { agent }, (response) => {
      let text = "";
      response.on("data", (part) => { text += part; });
      response.on("end", () => (response.statusCode === 200 ? resolve(Number(text)) : reject(new Error(`status ${response.statusCode}`))));
    });
    request.on("error", reject);
  });
}

async function answer(path) {
  if (path === "/list") {
    let sum = 0;
    for (let item = 0; item < 12; item += 1) sum += await price(-item);
    return sum;
  }
  if (path === "/checkout") return withPlace(() => price(1));
  if (path === "/broken") throw new Error("broken");
  return 0;
}

const shop = (request, response) => {
  answer(new URL(request.url, "http://shop").pathname).then(
    (value) => response.end(String(value)),
    () => { response.statusCode = 500; response.end(); },
  );
};

// What is asked for with a negative number lies ready.
const priceList = (request, response) => {
  const item = Number(new URL(request.url, "http://prices").searchParams.get("item"));
  setTimeout(() => response.end(String(Math.abs(item))), item > 0 ? 20 : 1);
};

const server = http.createServer(prices ? shop : priceList);
server.listen(0, "127.0.0.1", () => console.log(`listening: http://127.0.0.1:${server.address().port}`));

// The instrumentation listens to this signal, and Node then no longer ends by itself: without the test it would stay.
process.on("SIGTERM", () => process.exit());
