// The validation service: validators in buses and stations connect by WebSocket to /validate/json/v1 and send messages of two lines,
// a word and its JSON.
//
//   init    { validator }                      → init-response   { tariffs }
//   tap     { barcode }                        → tap-response    { "access": true, … }
//   notify  { ticket, access, confirm? }       → notify-response {} once it is stored, where `confirm` is true

import Fastify from "fastify";
import pg from "pg";
import { WebSocketServer } from "ws";
import { listen } from "../service.mjs";
import { createJudge } from "./barcode.mjs";
import { DecisionLog } from "./decisions.mjs";
import { loseSome } from "./losses.mjs";
import { exposeMetrics } from "./metrics.mjs";
import { isStartedBy } from "./processes.mjs";
import { readSettings } from "./settings.mjs";
import { countValidators, tariffsAsJson } from "./validators.mjs";

const SLOW_TAP_MS = 600;
const SLOW_PRODUCT = "OneYear";

const settings = readSettings(process.env);
const judge = createJudge(process.env.PUBLIC_KEY);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2, application_name: "validation" });
pool.on("error", (error) => console.error(`database: ${error.message}`));
const log = new DecisionLog(pool);
const shared = JSON.parse(tariffsAsJson);

/** A connection of a validator. */
class Validator {
  constructor(socket) {
    this.socket = socket;
    this.name = "";
    this.tariffs = shared;
  }

  receive(text) {
    const end = text.indexOf("\n");
    const word = end < 0 ? text : text.slice(0, end);
    const content = JSON.parse(end < 0 ? "{}" : text.slice(end + 1) || "{}");
    switch (word.trim()) {
      case "init":
        return this.init(content);
      case "tap":
        return this.tap(content);
      case "notify":
        return this.notify(content);
      default:
        throw new Error(`unknown message ${JSON.stringify(word)}`);
    }
  }

  init({ validator }) {
    this.name = String(validator);
    if (settings.ownTariffs) this.tariffs = JSON.parse(tariffsAsJson);
    this.reply("init-response", { tariffs: this.tariffs.length });
  }

  tap({ barcode }) {
    const decision = judge(barcode);
    const tariff = this.tariffs.find(({ product }) => product === decision.product);
    const reply = () => this.reply("tap-response", { access: decision.access, reason: decision.reason, ticket: decision.ticket, zone: tariff?.zone });
    if (settings.slowTaps && decision.product === SLOW_PRODUCT) setTimeout(reply, SLOW_TAP_MS);
    else reply();
  }

  notify({ ticket, access, confirm }) {
    const stored = confirm ? () => this.reply("notify-response", {}) : undefined;
    log.add({ validator: this.name, ticket: String(ticket), access: access === true, stored });
  }

  reply(word, content) {
    this.socket.send(`${word}\n${JSON.stringify(content, null, 1)}`);
  }
}

async function serve() {
  const app = Fastify({ forceCloseConnections: true });
  exposeMetrics(app);
  const sockets = new WebSocketServer({ server: app.server, path: "/validate/json/v1", maxPayload: 16 * 1024, perMessageDeflate: false });
  countValidators(sockets, log);
  sockets.on("connection", (socket) => {
    const validator = new Validator(socket);
    loseSome(socket, settings);
    socket.on("message", (data) => {
      try {
        validator.receive(data.toString());
      } catch (error) {
        socket.close(1008, error.message.slice(0, 100));
      }
    });
    // A broken connection closes by itself; without this the process would end.
    socket.on("error", () => {});
  });
  await listen(app);
}

if (!isStartedBy(settings.processes)) await serve();
