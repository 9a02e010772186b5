// Formats numbers by the same rules as crates/units/src/format.rs, digit for digit, so that the page, the terminal and the JUnit file never disagree.
// crates/units/cases.json contains the examples that test both.

/** Shown if there is no value. */
export const NONE = "—";

/** A length of time in seconds: `850 µs`, `38.2 ms`, `1.20 s`, `2 min 5 s`, `1 h 2 min`. */
export function seconds(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  if (value < 0) return `−${seconds(-value)}`;
  if (value === 0) return "0 s";
  // The border of each unit is where rounding to three digits would reach the next unit.
  if (value < 999.5e-9) return `${threeDigits(value * 1e9)} ns`;
  if (value < 999.5e-6) return `${threeDigits(value * 1e6)} µs`;
  if (value < 999.5e-3) return `${threeDigits(value * 1e3)} ms`;
  if (value < 59.95) return `${threeDigits(value)} s`;
  return long(Math.round(value));
}

function long(total: number): string {
  const parts: [number, string][] = [
    [Math.floor(total / 86_400), "d"],
    [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"],
    [total % 60, "s"],
  ];
  return parts.filter(([n]) => n > 0).slice(0, 2).map(([n, unit]) => `${n} ${unit}`).join(" ");
}

/** A count: `1,204`; from ten million on in three digits, `12.3 M`. */
export function count(value: number): string {
  return value >= 1e7 ? scaled(value) : thousands(value);
}

/** Per second: `0.25/s`, `38.2/s`, `1,204/s`, `12.3 M/s`. */
export function rate(perSecond: number | null | undefined): string {
  return perSecond == null ? NONE : `${number(perSecond)}/s`;
}

/** A number without a unit, in the style of `rate`. */
export function number(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  if (value < 0) return `−${number(-value)}`;
  if (value >= 1e7) return scaled(value);
  if (value >= 999.5 || Number.isInteger(value)) return thousands(Math.round(value));
  if (value < 0.001) return value.toExponential(1).replace("e+", "e");
  return threeDigits(value);
}

/** A share from 0 to 1 in percent: `0 %`, `<0.01 %`, `1.25 %`. Rounding never yields 0 % or 100 % for a share between them. */
export function share(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  const percent = value * 100;
  if (percent <= 0) return "0 %";
  if (percent < 0.01) return "<0.01 %";
  if (percent === 100) return "100 %";
  if (percent < 100 && percent > 99.99) return ">99.99 %";
  if (percent < 100 && percent > 99.9) return `${(Math.floor(percent * 100) / 100).toFixed(2)} %`;
  if (percent < 100 && percent > 99) return `${(Math.floor(percent * 10) / 10).toFixed(1)} %`;
  return `${threeDigits(percent)} %`;
}

/** Ratio from which a change is written as a factor: `× 750` is easier to read than `+74900 %`. */
export const FACTOR_MIN = 10;

/** A relative change, from the ratio of the new value to the old one: `+5.12 %`, `−3.10 %`, `under 0.01 %`, from `FACTOR_MIN` on `× 750`. */
export function change(ratio: number | null | undefined): string {
  if (ratio == null || !Number.isFinite(ratio)) return NONE;
  return ratio >= FACTOR_MIN ? factor(ratio) : signedShare(ratio - 1);
}

/** A share with its sign: `+5.12 %`, `−3.10 %`, `under 0.01 %`, `0 %`. */
export function signedShare(part: number): string {
  const size = share(Math.abs(part));
  // A change below the smallest shown share has no readable sign.
  if (size.startsWith("<")) return size.replace("<", "under ");
  return part > 0 ? `+${size}` : part < 0 ? `−${size}` : size;
}

/** A ratio: `× 0.53`, `× 1.93`, `× 12`, `× 1,204`. */
export function factor(ratio: number | null | undefined): string {
  if (ratio == null || !Number.isFinite(ratio)) return NONE;
  if (ratio < 0.01) return `× ${number(ratio)}`;
  return `× ${ratio < 9.995 ? fixed(ratio, 2) : number(Math.round(ratio))}`;
}

/** Bytes in decimal units: `512 B`, `1.20 kB`, `3.40 MB`. */
export function bytes(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return NONE;
  if (value < 0) return `−${bytes(-value)}`;
  if (value < 1000) return `${Math.round(value)} B`;
  const [digits, prefix] = scale(value);
  return `${digits} ${prefix === "K" ? "k" : prefix}B`;
}

/** `1 request`, `2 requests`. */
export function counted(value: number, singular: string): string {
  return `${count(value)} ${singular}${value === 1 ? "" : "s"}`;
}

/** A quantile's name: `p50`, `p99.9`. */
export function quantile(value: number): string {
  return `p${Number((value * 100).toFixed(4))}`;
}

function thousands(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function scaled(value: number): string {
  const [digits, prefix] = scale(value);
  return `${digits} ${prefix}`;
}

function scale(value: number): [string, string] {
  let amount = value / 1e3;
  for (const prefix of ["K", "M", "G"]) {
    if (amount < 999.5) return [threeDigits(amount), prefix];
    amount /= 1e3;
  }
  return [amount < 999.5 ? threeDigits(amount) : thousands(Math.floor(amount)), "T"];
}

/** Significant digits for a number of samples: a count of n is uncertain by 1/√n of itself. */
export function digitsOf(samples: number): number {
  return samples < 100 ? 1 : samples < 10_000 ? 2 : 3;
}

/** `seconds` with at most this many significant digits: `10 ms`, `1.2 s`. */
export function secondsTo(value: number | null | undefined, digits: number): string {
  return withoutZeros(seconds(value == null ? value : rounded(value, digits)), digits);
}

/** `share` with at most this many significant digits: `60 %`. */
export function shareTo(value: number, digits: number): string {
  return withoutZeros(share(rounded(value, digits)), digits);
}

function rounded(value: number, digits: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(Math.abs(value))));
  return Math.round(value * scale) / scale;
}

/** Zeros after the decimal point are digits, too. */
function withoutZeros(text: string, digits: number): string {
  const [number, ...unit] = text.split(" ");
  if (digits >= 3 || unit.length === 0 || !number!.includes(".")) return text;
  return [number!.replace(/\.?0+$/, ""), ...unit].join(" ");
}

/** Three significant digits for values in [0, 1000); `850`, `38.2`, `1.20`. */
function threeDigits(value: number): string {
  if (value >= 99.95 || value === 0) return fixed(value, 0);
  if (value >= 9.995) return fixed(value, 1);
  if (value >= 0.9995) return fixed(value, 2);
  return fixed(value, 3).replace(/0+$/, "");
}

/** `toFixed`, but an exact tie goes to the even digit, as Rust's formatting does. */
function fixed(value: number, decimals: number): string {
  const up = value.toFixed(decimals);
  const isTie = /^50*$/.test(value.toFixed(60).split(".")[1]?.slice(decimals) ?? "");
  return isTie && Number(up.at(-1)) % 2 === 1 ? (Number(up) - 10 ** -decimals).toFixed(decimals) : up;
}
