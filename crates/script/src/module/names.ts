// Loadstone's name servers. This file builds the data of `stub::DnsSpec`; the server is in Rust.
import { known, nanoseconds, share, show, strict } from "loadstone:values";

const OPTIONS = ["listen", "name", "names", "ttl", "delay", "loss", "seed"];
const ANSWER = ["address", "ttl", "moves"];

export class DnsStub {
  constructor(readonly address: string, readonly plan: any) {}
}

strict(DnsStub);

/** All name servers of the file, in the order of their declaration. */
export const nameServers: DnsStub[] = [];

function addresses(value: unknown, what: string): string[] {
  const list = Array.isArray(value) ? value : [value];
  for (const address of list) {
    if (typeof address !== "string" || !/^[0-9a-fA-F.:]+$/.test(address)) {
      throw new TypeError(`${what}: ${show(address)} is not an address: write it as "127.0.0.1"`);
    }
  }
  return list;
}

function answer(name: string, settings: any, ttl: unknown): any {
  const what = `stub.dns(…) names "${name}"`;
  const options = typeof settings === "string" || Array.isArray(settings) ? { address: settings } : settings;
  if (options === null || typeof options !== "object") throw new TypeError(`${what}: expected an address, or an object with one, got ${show(settings)}`);
  known(options, ANSWER, what);
  const moves = (options.moves ?? []).map((move: any) => {
    known(move, ["after", "address"], `${what} moves`);
    return { after_ns: nanoseconds(move.after, `${what} after`), addresses: addresses(move.address, `${what} moves`) };
  });
  return {
    name, ttl_ns: nanoseconds(options.ttl ?? ttl, `${what} ttl`),
    moves: [{ after_ns: 0, addresses: addresses(options.address, what) }, ...moves],
  };
}

/** `stub.dns(…)`. */
export function dns(options: any): DnsStub {
  const what = "stub.dns(…)";
  if (options === null || typeof options !== "object") throw new TypeError(`${what}: expected an object of options, got ${show(options)}`);
  known(options, OPTIONS, what);
  if (typeof options.listen !== "string" || !/:\d+$/.test(options.listen)) {
    throw new TypeError(`${what} listen: ${show(options.listen)} is not an address: write it as "127.0.0.53:53"`);
  }
  if (options.names === null || typeof options.names !== "object") throw new TypeError(`${what}: \`names\` is an object of names and their addresses`);
  const server = new DnsStub(options.listen, {
    name: options.name ?? (nameServers.length === 0 ? "dns" : `dns ${nameServers.length + 1}`),
    listen: options.listen,
    names: Object.entries(options.names).map(([name, settings]) => answer(name, settings, options.ttl ?? "30s")),
    delay: options.delay ?? null,
    loss: options.loss === undefined ? 0 : share(options.loss, `${what} loss`),
    seed: options.seed ?? 1,
  });
  nameServers.push(server);
  return server;
}
