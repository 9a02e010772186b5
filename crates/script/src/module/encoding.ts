// Hashes and encodings for signed requests, exported from Rust unchanged.
export const { hash, hmac, base64, base64url, hex } = __loadstone.encoding;
