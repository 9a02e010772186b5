// A self-signed certificate of the shop, for localhost only, valid for a day. Clients trust it as a root.

import { generate } from "selfsigned";

const DAY_MS = 24 * 60 * 60 * 1000;

/** `{ key, cert }` in PEM. */
export async function makeCertificate() {
  const now = Date.now();
  const made = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    algorithm: "sha256",
    // Slightly in the past, for clients whose clock is slow.
    notBeforeDate: new Date(now - DAY_MS / 24),
    notAfterDate: new Date(now + DAY_MS),
    extensions: [
      { name: "basicConstraints", cA: false },
      { name: "keyUsage", digitalSignature: true },
      { name: "extKeyUsage", serverAuth: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }, { type: 7, ip: "127.0.0.1" }, { type: 7, ip: "::1" }] },
    ],
  });
  return { key: made.private, cert: made.cert };
}
