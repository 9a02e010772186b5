// `crypto.subtle`: keys, parameters and checks, as in k6. The algorithms are native.
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("digests");
k6.add("subtle");
const native = k6.subtle;

/** What a key object holds: raw bytes, PKCS #8 or SubjectPublicKeyInfo as `der`, and the parts of an asymmetric key. */
const material = new WeakMap<object, any>();

class SubtleError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}
const fail = (name: string, message: string): never => {
  throw new SubtleError(name, message);
};
/** Calls a native function. Its errors begin with their name. */
const call = (name: string, ...rest: any[]): any => {
  try {
    return native[name](...rest);
  } catch (error: any) {
    const [, kind, message] = /^(\w+Error) (.*)$/s.exec(String(error?.message)) ?? [];
    return kind ? fail(kind, message) : fail("OperationError", String(error?.message));
  }
};

const bytes = (data: any): ArrayBuffer => {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice().buffer as ArrayBuffer;
  return data instanceof ArrayBuffer ? data : fail("TypeError", "expected an ArrayBuffer, a typed array or a DataView");
};
const none = new ArrayBuffer(0);
const optional = (data: any): ArrayBuffer => (data === undefined || data === null ? none : bytes(data));
const encode = (data: ArrayBuffer): string => k6.base64(data, "rawurl");
const decode = (text: any): ArrayBuffer => k6.unbase64(String(text).replace(/=+$/, ""), "rawurl");
const number = (data: any): number => new Uint8Array(bytes(data)).reduce((sum, byte) => sum * 256 + byte, 0);

const nameOf = (algorithm: any): string => {
  const name = String(algorithm?.name ?? algorithm).toUpperCase();
  return name === "RSASSA-PKCS1-V1_5" ? "RSASSA-PKCS1-v1_5" : name;
};
/** The native name, and the bytes of a block. */
const HASHES: Record<string, [string, number]> = {
  "SHA-1": ["sha1", 64], "SHA-256": ["sha256", 64], "SHA-384": ["sha384", 128], "SHA-512": ["sha512", 128],
};
const hashOf = (algorithm: any): string => {
  const name = nameOf(algorithm?.hash ?? fail("SyntaxError", "could not get hash from algorithm parameter"));
  return name in HASHES ? name : fail("NotSupportedError", `unsupported hash algorithm: ${name}`);
};
const DIGEST_BYTES: Record<string, number> = { "SHA-256": 32, "SHA-384": 48, "SHA-512": 64 };

type Family = "aes" | "hmac" | "ec" | "rsa";
const FAMILIES: Record<string, Family> = {
  "AES-CBC": "aes", "AES-CTR": "aes", "AES-GCM": "aes", "AES-KW": "aes", HMAC: "hmac", ECDSA: "ec", ECDH: "ec",
  "RSASSA-PKCS1-v1_5": "rsa", "RSA-PSS": "rsa", "RSA-OAEP": "rsa",
};
const familyOf = (name: string): Family =>
  FAMILIES[name] ?? fail("NotSupportedError", `Loadstone does not support ${name} of crypto.subtle: see docs/k6-compatibility.md`);

/** Usages of private (or secret) keys, and of public ones. */
const usagesOf = (name: string): [string[], string[]] => {
  switch (name) {
    case "HMAC": return [["sign", "verify"], []];
    case "AES-KW": return [["wrapKey", "unwrapKey"], []];
    case "ECDSA": case "RSA-PSS": case "RSASSA-PKCS1-v1_5": return [["sign"], ["verify"]];
    case "ECDH": return [["deriveKey", "deriveBits"], []];
    case "RSA-OAEP": return [["decrypt", "unwrapKey"], ["encrypt", "wrapKey"]];
    default: return [["encrypt", "decrypt", "wrapKey", "unwrapKey"], []];
  }
};
const keyOf = (type: string, algorithm: any, extractable: boolean, usages: string[], held: any): any => {
  const key = { type, extractable, algorithm, usages: [...(usages ?? [])] };
  material.set(key, held);
  return key;
};
const checkUsages = (name: string, usages: any) => {
  const known = usagesOf(name).flat();
  for (const usage of usages ?? []) if (!known.includes(usage)) fail("SyntaxError", `invalid key usage: ${usage}`);
};
const heldBy = (key: any): any => material.get(key) ?? fail("InvalidAccessError", "the key argument holds no valid CryptoKey");
/** The material of a key that may be used like this. */
const usable = (name: string, key: any, usage: string, type?: string): any => {
  const held = heldBy(key);
  if (key.algorithm.name !== name) fail("InvalidAccessError", `${usage}'s algorithm name does not match key algorithm name`);
  if (!key.usages.includes(usage)) fail("InvalidAccessError", `${usage}'s key does not contain the '${usage}' usage`);
  if (type && key.type !== type) fail("InvalidAccessError", `the key is not a ${type} key`);
  return held;
};

const secret = (name: string, raw: ArrayBuffer, algorithm: any, extractable: boolean, usages: string[]) => {
  if (!usages?.length) fail("SyntaxError", "usages cannot not be empty for a secret or private CryptoKey");
  const length = 8 * raw.byteLength;
  return keyOf("secret", name === "HMAC" ? { name, hash: { name: hashOf(algorithm) }, length } : { name, length }, extractable, usages, { raw });
};

const CURVES = ["P-256", "P-384", "P-521"];
const curveOf = (algorithm: any): string => {
  const curve = String(algorithm?.namedCurve);
  return CURVES.includes(curve) ? curve : fail("NotSupportedError", `elliptic curve ${curve} is not supported`);
};
const asymmetric = (name: string, algorithm: any, isPrivate: boolean, der: ArrayBuffer, extractable: boolean, usages: string[]) => {
  const type = isPrivate ? "private" : "public";
  if (isPrivate && !usages.length) fail("SyntaxError", "usages cannot not be empty for a secret or private CryptoKey");
  if (familyOf(name) === "ec") {
    const namedCurve = curveOf(algorithm);
    return keyOf(type, { name, namedCurve }, extractable, usages, call(isPrivate ? "ecPrivate" : "ecPublic", namedCurve, der));
  }
  const held = call(isPrivate ? "rsaPrivate" : "rsaPublic", der);
  const details = { name, modulusLength: 8 * held.n.byteLength, publicExponent: new Uint8Array(held.e), hash: { name: hashOf(algorithm) } };
  return keyOf(type, details, extractable, usages, held);
};

const RSA_PARTS = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
const joined = (...parts: ArrayBuffer[]): ArrayBuffer => Uint8Array.from(parts.flatMap((part) => [...new Uint8Array(part)])).buffer;
/** The DER of a JSON Web Key, and whether it is private. */
const derOfJwk = (name: string, algorithm: any, jwk: any): [ArrayBuffer, boolean] => {
  const isPrivate = jwk.d !== undefined && jwk.d !== "";
  if (familyOf(name) === "rsa") {
    if (jwk.kty !== "RSA") fail("DataError", `invalid key type: ${jwk.kty}`);
    const parts = RSA_PARTS.slice(0, isPrivate ? 8 : 2).map((part) => [part, decode(jwk[part] ?? fail("DataError", `the key has no ${part}`))]);
    return [call("rsaFromParts", Object.fromEntries(parts)), isPrivate];
  }
  if (jwk.kty !== "EC") fail("DataError", `invalid key type: ${jwk.kty}`);
  const curve = curveOf({ namedCurve: jwk.crv });
  if (curve !== curveOf(algorithm)) fail("DataError", `the key is on the curve ${curve}`);
  const point = joined(Uint8Array.of(4).buffer, decode(jwk.x), decode(jwk.y));
  return isPrivate ? [call("ecFromParts", curve, decode(jwk.d), point), true] : [call("ecPublic", curve, point).der, false];
};
const jwkOf = (key: any, held: any): any => {
  const { name, namedCurve, hash, length } = key.algorithm;
  switch (familyOf(name)) {
    case "rsa": {
      const parts = RSA_PARTS.slice(0, key.type === "private" ? 8 : 2);
      return { kty: "RSA", ...Object.fromEntries(parts.map((part) => [part, encode(held[part])])) };
    }
    case "ec": {
      const point = held.point.slice(1);
      const half = point.byteLength / 2;
      const d = key.type === "private" ? { d: encode(held.d) } : {};
      return { kty: "EC", crv: namedCurve, x: encode(point.slice(0, half)), y: encode(point.slice(half)), ...d };
    }
    default: {
      const alg = hash ? `HS${hash.name.slice(4)}` : `A${length}${name.slice(4)}`;
      return { kty: "oct", k: encode(held.raw), ext: key.extractable, key_ops: key.usages, alg };
    }
  }
};

const cipher = (encrypts: boolean) => async (algorithm: any, key: any, data: any): Promise<ArrayBuffer> => {
  const [name, input, usage] = [nameOf(algorithm), bytes(data), encrypts ? "encrypt" : "decrypt"];
  const family = familyOf(name);
  if (name === "RSA-OAEP") {
    const held = usable(name, key, usage, encrypts ? "public" : "private");
    return call("oaep", encrypts, key.algorithm.hash.name, { key: held.der, label: optional(algorithm.label) }, input);
  }
  if (family !== "aes" || name === "AES-KW") fail("NotSupportedError", `algorithm "${name}" doesn't support operation "${usage}"`);
  const { raw } = usable(name, key, usage);
  const length = algorithm.length ?? 0;
  if (name === "AES-CTR" && !(length > 0 && length <= 128)) fail("OperationError", "invalid counter length, out of the 0 < x < 128 bounds");
  const tagBits = algorithm.tagLength ?? 128;
  if (name === "AES-GCM" && ![96, 104, 112, 120, 128].includes(tagBits)) fail("OperationError", "invalid tag length, should be one of 96, 104, 112, 120, 128");
  const iv = bytes((name === "AES-CTR" ? algorithm.counter : algorithm.iv) ?? fail("SyntaxError", "could not get iv or counter from algorithm parameter"));
  return call("aes", name, encrypts, { key: raw, iv, additional: optional(algorithm.additionalData), tagBytes: tagBits / 8 }, input);
};

/** The hash of a signature. aws-lc-rs has one length of salts for each hash. */
const hashOfSignature = (algorithm: any, key: any): string => {
  if (key.algorithm.name === "ECDSA") return hashOf(algorithm);
  const hash = key.algorithm.hash.name;
  if (key.algorithm.name === "RSA-PSS" && algorithm.saltLength !== DIGEST_BYTES[hash])
    fail("NotSupportedError", `Loadstone supports the saltLength ${DIGEST_BYTES[hash]} for ${hash} only: see docs/k6-compatibility.md`);
  return hash;
};
const mac = (key: any, held: any, data: ArrayBuffer): ArrayBuffer => k6.hmac(HASHES[key.algorithm.hash.name][0], held.raw, data);

k6.subtleMembers = {
  digest: async (algorithm: any, data: any) => {
    const name = nameOf(algorithm);
    return name in HASHES ? k6.hash(HASHES[name][0], bytes(data)) : fail("NotSupportedError", `unsupported digest algorithm '${name}'`);
  },
  encrypt: cipher(true),
  decrypt: cipher(false),
  sign: async (algorithm: any, key: any, data: any) => {
    const [name, input] = [nameOf(algorithm), bytes(data)];
    const family = familyOf(name);
    if (family === "hmac") return mac(key, usable(name, key, "sign"), input);
    const held = usable(name, key, "sign", "private");
    const hash = hashOfSignature(algorithm, key);
    return family === "ec" ? call("ecSign", key.algorithm.namedCurve, hash, held.der, input) : call("rsaSign", name, hash, held.der, input);
  },
  verify: async (algorithm: any, key: any, signature: any, data: any) => {
    const [name, given, input] = [nameOf(algorithm), bytes(signature), bytes(data)];
    const family = familyOf(name);
    if (family === "hmac") {
      const [expected, own] = [new Uint8Array(mac(key, usable(name, key, "verify"), input)), new Uint8Array(given)];
      return expected.length === own.length && expected.every((byte, index) => byte === own[index]);
    }
    const held = usable(name, key, "verify", "public");
    const hash = hashOfSignature(algorithm, key);
    return family === "ec"
      ? call("ecVerify", key.algorithm.namedCurve, hash, [held.der, given], input)
      : call("rsaVerify", name, hash, [held.der, given], input);
  },
  generateKey: async (algorithm: any, extractable: boolean, usages: string[]) => {
    const name = nameOf(algorithm);
    const family = familyOf(name);
    checkUsages(name, usages);
    if (family === "aes" && ![128, 192, 256].includes(algorithm.length)) fail("OperationError", "invalid key length");
    if (family === "hmac" && algorithm.length === 0) fail("OperationError", "algorithm's length cannot be 0");
    if (family === "aes" || family === "hmac") {
      const length = algorithm.length ? Math.floor(algorithm.length / 8) : HASHES[hashOf(algorithm)][1];
      return secret(name, call("random", length), algorithm, extractable, usages);
    }
    if (!usages?.length) fail("SyntaxError", "key usages cannot be empty");
    if (family === "rsa" && number(algorithm.publicExponent) !== 65537)
      fail("NotSupportedError", "Loadstone supports the publicExponent 65537 only: see docs/k6-compatibility.md");
    const der = family === "ec" ? call("ecGenerate", curveOf(algorithm)) : call("rsaGenerate", algorithm.modulusLength);
    const [ofPrivate, ofPublic] = usagesOf(name).map((known) => usages.filter((usage) => known.includes(usage)));
    const privateKey = asymmetric(name, algorithm, true, der, extractable, ofPrivate);
    const held = heldBy(privateKey);
    return { privateKey, publicKey: asymmetric(name, algorithm, false, held.spki ?? held.point, true, ofPublic) };
  },
  importKey: async (format: string, data: any, algorithm: any, extractable: boolean, usages: string[]) => {
    const name = nameOf(algorithm);
    const family = familyOf(name);
    // As in k6, an imported key of AES-KW may have all usages of AES.
    checkUsages(family === "aes" ? "AES-CBC" : name, usages);
    const refused = () => fail("NotSupportedError", `unsupported key format ${format} for algorithm ${name}`);
    if (family === "aes" || family === "hmac") {
      if (format !== "raw" && format !== "jwk") refused();
      if (format === "jwk" && data?.kty !== "oct") fail("DataError", `invalid key type: ${data?.kty}`);
      const raw = format === "jwk" ? decode(data.k) : bytes(data).slice(0);
      if (family === "aes" && ![16, 24, 32].includes(raw.byteLength)) fail("DataError", `invalid key length ${raw.byteLength} bytes`);
      return secret(name, raw, algorithm, extractable, usages);
    }
    if (format === "jwk") {
      const [der, isPrivate] = derOfJwk(name, algorithm, data);
      return asymmetric(name, algorithm, isPrivate, der, extractable, usages);
    }
    if (format !== "pkcs8" && format !== "spki" && !(format === "raw" && family === "ec")) refused();
    return asymmetric(name, algorithm, format === "pkcs8", bytes(data), extractable, usages);
  },
  exportKey: async (format: string, key: any) => {
    const held = heldBy(key);
    if (!key.extractable) fail("InvalidAccessError", "the key is not extractable");
    const of = (type: string, part: any) => (key.type === type && part ? part.slice(0) : fail("InvalidAccessError", `the key has no format ${format}`));
    switch (format) {
      case "raw": return key.type === "secret" ? held.raw.slice(0) : of("public", held.point);
      case "pkcs8": return of("private", held.der);
      case "spki": return of("public", held.der);
      case "jwk": return jwkOf(key, held);
      default: return fail("NotSupportedError", `unsupported key format ${format}`);
    }
  },
  deriveBits: async (algorithm: any, key: any, length?: number) => {
    const held = usable("ECDH", key, "deriveBits", "private");
    if (nameOf(algorithm) !== "ECDH") fail("NotSupportedError", `unsupported algorithm for derive bits: ${nameOf(algorithm)}`);
    const peer = heldBy(algorithm.public);
    const other = algorithm.public;
    if (other.type !== "public" || other.algorithm.name !== "ECDH") fail("InvalidAccessError", "algorithm's public key is not a public key");
    if (other.algorithm.namedCurve !== key.algorithm.namedCurve) fail("InvalidAccessError", "keys have different curves");
    if (length && length % 8 !== 0) fail("NotSupportedError", "currently only multiples of 8 are supported for length");
    const bits: ArrayBuffer = call("ecdh", key.algorithm.namedCurve, held.der, peer.point);
    if (length && bits.byteLength < length / 8) fail("OperationError", "length is too large");
    return length ? bits.slice(0, length / 8) : bits;
  },
};
