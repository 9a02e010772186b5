// `crypto` with the Web's interface, and `Math.random`. Both use the run's seed, so that a run repeats.
(function (draws) {
  const crypto = {
    randomUUID: () => draws.uuid(),
    getRandomValues(array) {
      if (!ArrayBuffer.isView(array) || array instanceof Float32Array || array instanceof Float64Array || array instanceof DataView) {
        throw new TypeError("crypto.getRandomValues: expected an array of whole numbers");
      }
      if (array.byteLength > 65536) throw new DOMException("crypto.getRandomValues: at most 65,536 bytes at once", "QuotaExceededError");
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(draws.bytes(array.byteLength));
      return array;
    },
  };
  Object.defineProperty(globalThis, "crypto", { value: crypto, writable: true, configurable: true, enumerable: false });
  Object.defineProperty(Math, "random", { value: function random() { return draws.unit(); }, writable: true, configurable: true, enumerable: false });
})
