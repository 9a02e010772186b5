// Loadstone's proxies: for TCP between the system and its dependencies, and for HTTP between another tool and the system. This file builds the data of
// `stub::proxy::ProxySpec` and `ProxyRecordChoice`; the proxies are in Rust.
import { known, members, name as nameOf, nanoseconds, share, show, strict, whole } from "loadstone:values";

const EFFECTS = ["delay", "bandwidth", "resets"];
const OPTIONS = ["to", "listen", ...EFFECTS];

export class TcpProxy {
  constructor(readonly address: string, readonly number: number, readonly plan: any) {}
}

strict(TcpProxy);

/** The proxy whose requests are the record of `loadstone watch`. */
export class RecordingProxy {
  constructor(readonly plan: { listen: string; to: string; ca: string | null }) {}
}

strict(RecordingProxy);

/** All of the file. One that is no record would be ignored. */
export const recordingProxies: RecordingProxy[] = [];

/** All proxies of the file, in the order of their declaration. */
export const proxies: TcpProxy[] = [];

/** The effects of a proxy on its connections, as plain data. Missing effects are off. */
export function effects(options: any, what: string): any {
  return {
    delay_ns: options.delay === undefined ? 0 : nanoseconds(options.delay, `${what} delay`),
    bytes_per_second: options.bandwidth === undefined ? null : whole(options.bandwidth, `${what} bandwidth`, 1),
    resets: options.resets === undefined ? 0 : share(options.resets, `${what} resets`),
  };
}

function address(value: unknown, what: string): string {
  if (typeof value !== "string" || !/:\d+$/.test(value)) throw new TypeError(`${what}: ${show(value)} is not an address: write it as "127.0.0.1:5432"`);
  return value;
}

export const proxy = members("proxy", {
  tcp(options: any) {
    known(options, OPTIONS, "proxy.tcp(…)");
    const to = address(options.to, "proxy.tcp(…) to"), listen = address(options.listen, "proxy.tcp(…) listen");
    const tcpProxy = new TcpProxy(listen, proxies.length, { listen, to, ...effects(options, "proxy.tcp(…)") });
    proxies.push(tcpProxy);
    return tcpProxy;
  },

  http(options: any) {
    known(options, ["to", "listen", "ca"], "proxy.http(…)");
    const listen = address(options.listen, "proxy.http(…) listen");
    const recordingProxy = new RecordingProxy({ listen, to: url(options.to), ca: options.ca === undefined ? null : nameOf(options.ca, "proxy.http(…) ca") });
    recordingProxies.push(recordingProxy);
    return recordingProxy;
  },
});

function url(value: unknown): string {
  if (typeof value !== "string" || !/^(https?|tcp):\/\//.test(value)) {
    throw new TypeError(`proxy.http(…) to: ${show(value)} is not the URL of the system: write it as "http://127.0.0.1:8080"`);
  }
  return value;
}

/** A knob's change to a proxy. */
export function proxyChange(change: any, what: string): any {
  known(change, ["proxy", ...EFFECTS], what);
  if (!(change.proxy instanceof TcpProxy)) throw new TypeError(`${what}: \`proxy\` must be the result of proxy.tcp(…), not ${show(change.proxy)}`);
  return { proxy: change.proxy.number, ...effects(change, what) };
}
