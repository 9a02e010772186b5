// Barcodes: what a ticket is good for, signed, so that a validator needs no database to judge it.

import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";

/** Makes barcodes with the issuer's private key: `payload.signature`, both base64url, some 230 characters. */
export function createMaker(privateKeyPem) {
  const key = createPrivateKey(privateKeyPem);
  return ({ ticket, product, validUntil }) => {
    const payload = Buffer.from(JSON.stringify({ ticket, product, validUntil }));
    return `${payload.toString("base64url")}.${sign(null, payload, key).toString("base64url")}`;
  };
}

/** Judges barcodes by the issuer's public key: `{ access, reason, ticket, product }`. */
export function createJudge(publicKeyPem) {
  const key = createPublicKey(publicKeyPem);
  return (barcode, now = Date.now()) => {
    const [payload, signature] = String(barcode).split(".");
    const bytes = Buffer.from(payload ?? "", "base64url");
    if (!verify(null, bytes, key, Buffer.from(signature ?? "", "base64url"))) return { access: false, reason: "forged", ticket: "" };
    const { ticket, product, validUntil } = JSON.parse(bytes);
    return validUntil < now ? { access: false, reason: "expired", ticket, product } : { access: true, reason: "", ticket, product };
  };
}
