// Attacks with damaged copies of valid messages, for what has no fuzz target: commands to the live page, MCP messages, answers of name servers.

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

import { damaged } from "./damage.mjs";
import { FAILED, once } from "./scripts.mjs";

const COPIES = 400;
const small = { mib: 300, seconds: 60, exits: [0, ...FAILED] };
const tool = (name, args, id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });

export const DAMAGED_ATTACKS = [
  {
    id: "damaged/page-commands", server: "ok", args: ["--live", "--live-address", "page.txt"], limits: small,
    script: `const s = scenario("S", async (user) => { await user.get("/", { name: "R" }); });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(arrivals(10).for("6s")) });`,
    during: async (attack) => {
      const { port, token } = await livePage(attack);
      const command = (action, value) => JSON.stringify({ token, action, value });
      attack.answers = [];
      for (const body of damaged([command("scale", 1), command("resume")], COPIES, 40)) attack.answers.push(await posted(port, body));
    },
    check: ({ attack }) => {
      const wrong = attack.answers.filter((answer) => !/^HTTP\/1.1 (202|4\d\d|503) /.test(answer));
      const refused = attack.answers.filter((answer) => / 4\d\d /.test(answer)).length;
      if (wrong.length > 0) return `${wrong.length} answers like ${JSON.stringify(wrong[0].slice(0, 40))}`;
      return refused > COPIES / 2 ? undefined : `only ${refused} of ${COPIES} commands were refused`;
    },
  },
  {
    id: "damaged/mcp-messages", script: once(`await user.get("/", { name: "R" });`), command: ["mcp"], limits: { ...small, exits: [0] },
    input: async function* ({ sleep }) {
      const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } } };
      for (const message of [initialize, { jsonrpc: "2.0", method: "notifications/initialized" }]) yield `${JSON.stringify(message)}\n`;
      const messages = [tool("inspect", { test: "a.load.ts" }, 2), tool("verdict", { run: "latest" }, 3), tool("list_tests", {}, 4), { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } }];
      for (const copy of damaged(messages.map((message) => JSON.stringify(message)), COPIES, 41)) {
        yield Buffer.concat([copy, Buffer.from("\n")]);
        await sleep(5);
      }
      yield `${JSON.stringify({ jsonrpc: "2.0", id: "last", method: "tools/list" })}\n`;
      await sleep(1_500);
    },
    check: ({ out }) => (/"id":"last"/.test(out) ? undefined : "the last request was not answered"),
  },
  {
    id: "damaged/dns-answers", server: "ok", dnsServer: "damaged", args: ["--allow-net", "*.test"], limits: { ...small, exits: [0, ...FAILED, 5] },
    script: (dnsPort) => `const s = scenario("S", async (user) => { for (let n = 0; n < 100; n++) { await user.get("http://shop" + n + ".test:" + port + "/", { name: "R" }); } });
export default test({ target: "http://127.0.0.1:" + port, load: s.run(iterations(4).users(4)), options: { requestTimeout: "500ms", nameServers: ["127.0.0.1:${dnsPort}"] } });`,
    check: ({ dns }) => (dns.queries() >= COPIES ? undefined : `only ${dns.queries()} answers`),
  },
];

async function livePage({ folder, sleep }) {
  for (;;) {
    try {
      const [, port, token] = /:(\d+)\/.*token=([^\s&#]+)/.exec(readFileSync(join(folder, "page.txt"), "utf8"));
      return { port: Number(port), token };
    } catch {
      await sleep(100);
    }
  }
}

function posted(port, body) {
  return new Promise((resolve) => {
    let answer = "";
    const head = `POST /control HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.concat([Buffer.from(head), body])));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on("data", (data) => (answer += data.toString("latin1")).length > 1_000 && socket.destroy());
    socket.on("error", () => {}).on("close", () => resolve(answer));
  });
}
