// The class of https://jslib.k6.io/formdata: a multipart body with repeated names.
declare const globalThis: any;
const k6 = globalThis.__k6;

const bytesOf = (data: any): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(k6.bytes(data));

export class FormData {
  boundary: string;
  parts: any[] = [];

  constructor() {
    this.boundary = "----LoadstoneFormBoundary" + Array.from({ length: 16 }, () => Math.floor(Math.random() * 36).toString(36)).join("");
  }

  append(name: string, value: any, filename?: string) {
    const file = typeof value === "object" && value !== null && "data" in value;
    if (file) this.parts.push({ name, data: value.data, filename: filename ?? value.filename, type: value.content_type });
    else this.parts.push({ name, data: typeof value === "object" && value !== null ? value : String(value), filename, type: undefined });
  }

  /** The body as an ArrayBuffer. */
  body(): ArrayBuffer {
    const chunks: Uint8Array[] = [];
    for (const { name, data, filename, type } of this.parts) {
      let head = `--${this.boundary}\r\nContent-Disposition: form-data; name="${name}"`;
      if (filename !== undefined) head += `; filename="${filename}"\r\nContent-Type: ${type ?? "application/octet-stream"}`;
      chunks.push(bytesOf(`${head}\r\n\r\n`), bytesOf(data), bytesOf("\r\n"));
    }
    chunks.push(bytesOf(`--${this.boundary}--\r\n`));
    const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all.buffer;
  }
}
