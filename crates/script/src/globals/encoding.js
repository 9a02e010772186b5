// `TextEncoder` and `TextDecoder` with the interface of the Encoding standard. UTF-8 only, and no streams.
(function (native) {
  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return native.encode(String(text).toWellFormed()); }
    encodeInto(text, target) {
      let read = 0, written = 0;
      for (const character of String(text).toWellFormed()) {
        const bytes = native.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += character.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal;
    #ignoreBOM;
    constructor(label = "utf-8", options = {}) {
      const name = String(label).trim().toLowerCase();
      if (!["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"].includes(name)) {
        throw new RangeError(`TextDecoder: "${label}" is not supported; only UTF-8 is`);
      }
      this.#fatal = Boolean(options?.fatal);
      this.#ignoreBOM = Boolean(options?.ignoreBOM);
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(bytes) {
      if (bytes === undefined) return "";
      const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : bytes;
      if (typeof view === "string") throw new TypeError("TextDecoder.decode: expected a Uint8Array or an ArrayBuffer");
      return native.decode(view, this.#fatal, this.#ignoreBOM);
    }
  }

  for (const [name, value] of Object.entries({ TextEncoder, TextDecoder })) {
    Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true });
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
})
