// `structuredClone` for the values of scripts: see the HTML standard, StructuredSerializeInternal. Transfer lists are not supported.
(function () {
  const refuse = (value) => {
    throw new DOMException(`${typeof value === "symbol" ? String(value) : typeof value === "function" ? (value.name || "a function") : Object.prototype.toString.call(value)} could not be cloned.`, "DataCloneError");
  };

  const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

  function clone(value, seen) {
    if (typeof value === "function" || typeof value === "symbol") refuse(value);
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const keep = (copy) => (seen.set(value, copy), copy);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) return keep(Object(value.valueOf()));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = clone(value.buffer, seen);
      return keep(new value.constructor(buffer, value.byteOffset, value instanceof DataView ? value.byteLength : value.length));
    }
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [key, item] of [...value]) copy.set(clone(key, seen), clone(item, seen));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const item of [...value]) copy.add(clone(item, seen));
      return copy;
    }
    if (value instanceof Error) {
      const copy = keep(Object.create((ERRORS[value.name] ?? Error).prototype));
      for (const name of ["message", "stack", "cause"]) {
        const property = Object.getOwnPropertyDescriptor(value, name);
        if (property && "value" in property) Object.defineProperty(copy, name, { value: name === "cause" ? clone(property.value, seen) : String(property.value), writable: true, configurable: true, enumerable: false });
      }
      return copy;
    }
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) refuse(value);
    const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
    return copy;
  }

  Object.defineProperty(globalThis, "structuredClone", {
    value: function structuredClone(value) {
      if (arguments.length === 0) throw new TypeError("structuredClone: 1 argument required");
      return clone(value, new Map());
    },
    writable: true, configurable: true, enumerable: false,
  });
})
