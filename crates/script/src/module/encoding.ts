// Hashes and encodings for signed requests: Rust's own, as they are.
export const { hash, hmac, base64, base64url, hex } = __loadstone.encoding;
