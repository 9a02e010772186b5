// The stacks of the benchmark: what each needs, and how it is started. All are the same little shop.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../examples/free-port.mjs";
import { installPackages } from "../parts.mjs";
import { slowLookup } from "./preload.mjs";
import { startProgram } from "./program.mjs";

const here = import.meta.dirname;
const built = join(here, "target");
const local = (port) => `http://127.0.0.1:${port}`;

/** Also what the others need to reach the database. */
const installNode = () => installPackages(join(here, "node"));

function installGo() {
  // Builds only what has changed.
  execute("go", ["build", "-o", join(built, "shop-go"), "."], join(here, "go"));
}

function installPython() {
  installNode();
  const requirements = join(here, "python/requirements.txt");
  const stamp = join(built, "venv/installed");
  if (isNewer(stamp, requirements)) return;
  execute("python3", ["-m", "venv", join(built, "venv")], here);
  execute(join(built, "venv/bin/pip"), ["install", "--quiet", "--requirement", requirements], here);
  execute("touch", [stamp], here);
}

function installJvm() {
  installNode();
  const [project, libraries] = [join(here, "jvm/pom.xml"), join(built, "jvm/libraries")];
  if (!isNewer(libraries, project)) {
    const copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${libraries}`];
    execute("mvn", ["--quiet", "--batch-mode", ...copy], join(here, "jvm"));
    execute("touch", [libraries], here);
  }
  const sources = ["Faults.java", "Shop.java"].map((file) => join(here, "jvm/shop", file));
  if (sources.every((source) => isNewer(join(built, "jvm/classes/shop/Shop.class"), source))) return;
  execute("javac", ["-d", join(built, "jvm/classes"), "-cp", join(libraries, "*"), ...sources], here);
}

const node = ({ heap }) => ["node", ...(heap ? [`--max-old-space-size=${heap}`] : []), "shop.mjs"];

/** The settings as properties, `-Dfault.limit.perSecond=80`, since the JVM reads no JSON by itself. */
function jvm(settings) {
  const flat = (values, path) =>
    Object.entries(values).flatMap(([name, value]) => (typeof value === "object" ? flat(value, `${path}${name}.`) : [`-D${path}${name}=${value}`]));
  const nodelay = `-Dsun.net.httpserver.nodelay=${!settings.nagle}`;
  const heap = ["-XX:+UseSerialGC", `-Xmx${settings.heap ?? 512}m`];
  const path = [join(built, "jvm/classes"), join(built, "jvm/libraries", "*")].join(":");
  return ["java", ...heap, nodelay, "-Dsun.net.httpserver.maxIdleConnections=2000", ...flat(settings, "fault."), "-cp", path, "shop.Shop"];
}

const isNewer = (made, source) => existsSync(made) && statSync(made).mtimeMs >= statSync(source).mtimeMs;

function execute(command, arguments_, folder) {
  try {
    execFileSync(command, arguments_, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  } catch (error) {
    throw error.code === "ENOENT" ? new Error(`${command} is not installed; see README.md for what the stacks need`) : error;
  }
}

/** A stack that is one program, with its own metrics. */
function single(command, folder) {
  return async ({ parts, settings, environment }) => {
    const { tls, lookup, descriptors, quota } = settings;
    const own = { ...environment, ...(tls && { TLS: certificate(tls) }), ...(lookup && slowLookup(lookup)) };
    const addresses = {};
    const told = (path) => (addresses.cgroup = path);
    const port = await startProgram(parts, command(settings), { environment: own, folder: join(here, folder), descriptors, quota, told });
    // Nobody observes metrics behind a certificate that no authority has signed.
    return { ...addresses, ...(tls ? { shop: `https://127.0.0.1:${port}` } : { shop: local(port), metrics: `${local(port)}/metrics` }) };
  };
}

/** A certificate with an RSA key of so many bits, which make its handshakes dear; made once. Where its `.key` and its `.crt` are. */
function certificate(bits) {
  const path = join(built, `tls-${bits}`);
  if (existsSync(`${path}.crt`)) return path;
  mkdirSync(built, { recursive: true });
  const names = ["-subj", "/CN=shop", "-addext", "subjectAltName=IP:127.0.0.1"];
  const output = ["-keyout", `${path}.key`, "-out", `${path}.crt`];
  execute("openssl", ["req", "-x509", "-newkey", `rsa:${bits}`, "-nodes", "-days", "3650", ...names, ...output], built);
  return path;
}

/** The shop on Node, behind something else: it is what a request arrives at after that. */
async function upstream({ parts, environment }, { settings, more }) {
  const own = { ...environment, ...more, ...(settings.lookup && slowLookup(settings.lookup)), FAULT: JSON.stringify(settings) };
  return local(await startProgram(parts, node(settings), { environment: own, folder: join(here, "node") }));
}

/** nginx limits rates by itself, and may have a second, slow shop behind it for a tenth of the requests; all other faults are the shop's. */
async function startNginx({ parts, settings: { limit, slowInstance, ...settings }, environment }) {
  const behind = await upstream({ parts, environment }, { settings });
  const second = slowInstance && (await upstream({ parts, environment }, { settings: { workers: 1000, work: slowInstance } }));
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "loadstone-nginx-"));
  parts.add(() => rmSync(folder, { recursive: true, force: true }));
  const zone = limit ? `limit_req_zone $server_name zone=all:1m rate=${limit.perSecond}r/s;` : "";
  const burst = limit?.delay ? "burst=100000" : "burst=5 nodelay";
  const text = readFileSync(join(here, "nginx/nginx.conf"), "utf8");
  const instances = second ? `server ${new URL(behind).host} weight=9; server ${new URL(second).host};` : `server ${new URL(behind).host};`;
  const values = { port, instances, zone, limit: limit ? `limit_req zone=all ${burst}; limit_req_status 429;` : "" };
  writeFileSync(join(folder, "nginx.conf"), text.replace(/@(\w+)@/g, (_, name) => values[name]));
  await startProgram(parts, ["nginx", "-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], { port });
  return { shop: local(port), upstream: behind, metrics: `${behind}/metrics` };
}

async function startWithRedis({ parts, settings, environment }) {
  const port = await freePort();
  await startProgram(parts, ["redis-server", "--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--loglevel", "warning"], { port });
  const redis = `redis://127.0.0.1:${port}`;
  const shop = await upstream({ parts, environment }, { settings, more: { REDIS_URL: redis } });
  return { shop, redis, metrics: `${shop}/metrics` };
}

/** The front's HTTP client and its network have limits of their own; all other faults are the shop's. */
async function startChain({ parts, settings: { sockets, bandwidth, ...settings }, environment }) {
  const behind = await upstream({ parts, environment }, { settings });
  const own = { ...environment, FAULT: JSON.stringify({ sockets, bandwidth }), UPSTREAM_URL: behind };
  const shop = local(await startProgram(parts, ["node", join(here, "chain/front.mjs")], { environment: own }));
  return { shop, upstream: behind, metrics: `${behind}/metrics` };
}

export const STACKS = {
  node: { database: true, install: installNode, start: single(node, "node") },
  go: { database: false, install: installGo, start: single(() => [join(built, "shop-go")], "go") },
  jvm: { database: true, install: installJvm, start: single(jvm, "jvm") },
  python: { database: true, install: installPython, start: single(() => [join(built, "venv/bin/gunicorn"), "shop:application"], "python") },
  nginx: { database: true, install: installNode, start: startNginx },
  redis: { database: true, install: installNode, start: startWithRedis },
  chain: { database: true, install: installNode, start: startChain },
};
