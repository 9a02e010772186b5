// Formats a value by its unit, like `loadstone_units::in_unit`.

import { bytes, number, rate, seconds, share } from "./number";

export function inUnit(value: number | null | undefined, unit: string): string {
  switch (unit) {
    case "s":
    case "seconds": return seconds(value);
    case "/s":
    case "per second": return rate(value);
    case "bytes": return bytes(value);
    case "bytes/s": return value == null ? bytes(value) : `${bytes(value)}/s`;
    case "share": return share(value);
    case "s/s": return value == null ? number(value) : `${number(value)} s/s`;
    case "":
    case "1": return number(value);
    default: return value == null || !Number.isFinite(value) ? number(value) : `${number(value)} ${noun(value, unit)}`;
  }
}

/** `cores`, or `core` for one. Shorter ones, such as ms, are symbols. */
function noun(value: number, unit: string): string {
  return number(value) === "1" && unit.length > 3 ? unit.replace(/s$/, "") : unit;
}

/** Ticks of an axis, all in one unit and as short as their step allows. */
export function ticksInUnit(ticks: number[], unit: string): string[] {
  const largest = Math.max(...ticks.map(Math.abs), 0);
  const step = ticks.length > 1 ? Math.abs((ticks[1] as number) - (ticks[0] as number)) : largest;
  switch (unit) {
    case "s":
    case "seconds": {
      const [scale, name] =
        largest < 1e-6 ? [1e9, "ns"] : largest < 1e-3 ? [1e6, "µs"] : largest < 1 ? [1e3, "ms"] : largest < 120 ? [1, "s"] : [1 / 60, "min"];
      return ticks.map((tick) => (tick === 0 ? "0" : `${plain(tick * scale, step * scale)} ${name}`));
    }
    case "bytes":
    case "bytes/s": {
      const [scale, name] = largest < 1e3 ? [1, "B"] : largest < 1e6 ? [1e-3, "kB"] : largest < 1e9 ? [1e-6, "MB"] : [1e-9, "GB"];
      return ticks.map((tick) => (tick === 0 ? "0" : `${plain(tick * scale, step * scale)} ${name}${unit === "bytes/s" ? "/s" : ""}`));
    }
    case "share": return ticks.map((tick) => `${plain(tick * 100, step * 100)} %`);
    case "/s":
    case "per second": return ticks.map((tick) => (tick === 0 ? "0" : `${short(tick, step)}/s`));
    default: return ticks.map((tick) => short(tick, step));
  }
}

function short(value: number, step: number): string {
  return Math.abs(value) >= 1e7 ? number(value) : plain(value, step);
}

/** As many decimals as the step between ticks requires. */
function plain(value: number, step: number): string {
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 * step * 10 ** decimals) decimals++;
  return value.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",");
}

/** A position on the time axis: `0:42`, `12:05`, `1:02:30`. */
export function clock(atSeconds: number): string {
  const whole = Math.floor(atSeconds + 1e-6);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** How positions on the time axis are shown: since the start of the run, or as the time of day in a zone, to line up with logs and dashboards. */
export type TimeBase = "run" | "local" | "utc";

/** A position on the time axis: `0:42`, or `13:28:17` in a zone. `started`: the instant of second 0, RFC 3339. */
export function timeOf(atSeconds: number, base: TimeBase, started: string): string {
  const zero = Date.parse(started);
  if (base === "run" || Number.isNaN(zero)) return clock(atSeconds);
  const zone = base === "utc" ? { timeZone: "UTC" } : {};
  return new Date(zero + atSeconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", ...zone });
}

/** The reader's time zone at an instant: `GMT+1`. */
export function localZone(at: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(new Date(Date.parse(at) || 0));
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "local";
}

/** An instant for people, in the reader's time zone: RFC 3339, or milliseconds since 1970. */
export function instant(at: string | number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
