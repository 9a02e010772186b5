// The module "k6/encoding".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("digests");

export function b64encode(input: any, encoding?: string): string {
  return k6.base64(input, encoding ?? "std");
}

export function b64decode(input: string, encoding?: string, format?: string): any {
  const bytes = k6.unbase64(String(input), encoding ?? "std");
  return format === "s" ? k6.text(bytes) : bytes;
}

export default { b64encode, b64decode };
