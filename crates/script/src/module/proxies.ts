// Loadstone's TCP proxies, between the system and its dependencies. This file builds the data of `stub::proxy::ProxySpec`; the proxy is in
// Rust.
import { known, members, nanoseconds, share, show, strict, whole } from "loadstone:values";

const EFFECTS = ["delay", "bandwidth", "resets"];
const OPTIONS = ["to", "listen", ...EFFECTS];

export class TcpProxy {
  constructor(readonly address: string, readonly number: number, readonly plan: any) {}
}

strict(TcpProxy);

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
});

/** A knob's change to a proxy. */
export function proxyChange(change: any, what: string): any {
  known(change, ["proxy", ...EFFECTS], what);
  if (!(change.proxy instanceof TcpProxy)) throw new TypeError(`${what}: \`proxy\` must be the result of proxy.tcp(…), not ${show(change.proxy)}`);
  return { proxy: change.proxy.number, ...effects(change, what) };
}
