// The functions of https://jslib.k6.io/k6-utils that need no other module.
declare const globalThis: any;

export const randomIntBetween = (min: number, max: number) => Math.floor(Math.random() * (max - min + 1) + min);
export const randomItem = (list: any[]) => list[Math.floor(Math.random() * list.length)];
export const uuidv4 = () => globalThis.crypto.randomUUID();

export function randomString(length: number, charset = "abcdefghijklmnopqrstuvwxyz") {
  let text = "";
  while (length--) text += charset[Math.floor(Math.random() * charset.length)];
  return text;
}

export function findBetween(content: string, left: string, right: string, repeat = false): any {
  const found: string[] = [];
  let at = 0;
  for (;;) {
    const start = content.indexOf(left, at);
    if (start < 0) break;
    const end = content.indexOf(right, start + left.length);
    if (end < 0) break;
    found.push(content.slice(start + left.length, end));
    if (!repeat) break;
    at = end + right.length;
  }
  return repeat ? found : found.length > 0 ? found[0] : null;
}

