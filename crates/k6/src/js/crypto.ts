// The module "k6/crypto".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("digests");

const output = (bytes: ArrayBuffer, encoding: string): any => {
  switch (encoding) {
    case "hex":
      return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
    case "base64":
      return k6.base64(bytes, "std");
    case "base64url":
      return k6.base64(bytes, "url");
    case "base64rawurl":
      return k6.base64(bytes, "rawurl");
    case "binary":
      return bytes;
    default:
      throw new Error(`k6/crypto: the output encoding "${encoding}" is not supported`);
  }
};

/** Collects what is hashed. */
class Hasher {
  #parts: Uint8Array[] = [];
  #finish: (bytes: ArrayBuffer) => ArrayBuffer;

  constructor(finish: (bytes: ArrayBuffer) => ArrayBuffer) {
    this.#finish = finish;
  }

  update(data: any) {
    this.#parts.push(new Uint8Array(k6.bytes(data)));
  }

  digest(encoding: string): any {
    const all = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return output(this.#finish(all.buffer), encoding);
  }
}

export const createHash = (algorithm: string) => new Hasher((bytes) => k6.hash(algorithm, bytes));
export const createHMAC = (algorithm: string, secret: any) => new Hasher((bytes) => k6.hmac(algorithm, secret, bytes));
export const hmac = (algorithm: string, secret: any, data: any, encoding: string) => output(k6.hmac(algorithm, secret, data), encoding);

const named = (algorithm: string) => (data: any, encoding: string) => output(k6.hash(algorithm, data), encoding);
export const md5 = named("md5");
export const sha1 = named("sha1");
export const sha256 = named("sha256");
export const sha384 = named("sha384");
export const sha512 = named("sha512");
export const sha512_224 = named("sha512_224");
export const sha512_256 = named("sha512_256");
export const md4 = named("md4");
export const ripemd160 = named("ripemd160");
export function randomBytes(size: number): ArrayBuffer {
  if (!(size >= 1)) throw new Error("invalid size");
  return globalThis.crypto.getRandomValues(new Uint8Array(size)).buffer;
}

export default {
  createHash, createHMAC, hmac, md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256, ripemd160, randomBytes,
};
