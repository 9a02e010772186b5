// `console`, and the format of values in it. The format follows Node's `util.inspect` on one line, which users know.
(function (write) {
  const DEPTH_MAX = 3;
  const ITEMS_MAX = 100;
  const TEXT_MAX = 10000;

  const quoted = (text) => {
    const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const shown = text.length > TEXT_MAX ? text.slice(0, TEXT_MAX) + "…" : text;
    const escaped = shown.replace(/[\\\n\r\t\b\f\v\0]/g, (c) => ({ "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v", "\0": "\\x00" })[c]);
    return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
  };

  const key = (name) => (typeof name === "symbol" ? `[${String(name)}]` : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));

  const list = (open, parts, more, close) => {
    if (more > 0) parts.push(`... ${more} more item${more === 1 ? "" : "s"}`);
    return parts.length === 0 ? open + close : `${open} ${parts.join(", ")} ${close}`;
  };

  const first = (items, show) => {
    const parts = [];
    for (const item of items) {
      if (parts.length === ITEMS_MAX) break;
      parts.push(show(item));
    }
    return parts;
  };

  const className = (value) => {
    const prototype = Object.getPrototypeOf(value);
    if (prototype === null) return null;
    return typeof prototype.constructor === "function" ? prototype.constructor.name : "";
  };

  const member = (value, name, inner) => {
    const property = Object.getOwnPropertyDescriptor(value, name);
    if (!property || "value" in property) return `${key(name)}: ${inner(property ? property.value : undefined)}`;
    return `${key(name)}: ${property.set ? (property.get ? "[Getter/Setter]" : "[Setter]") : "[Getter]"}`;
  };

  const members = (value, inner, skip = () => false) => {
    const symbols = Object.getOwnPropertySymbols(value).filter((name) => Object.prototype.propertyIsEnumerable.call(value, name));
    return [...Object.keys(value).filter((name) => !skip(name)), ...symbols].map((name) => member(value, name, inner));
  };

  const isIndex = (name) => /^(0|[1-9]\d*)$/.test(name);

  function array(value, inner) {
    const parts = [];
    const shown = Math.min(value.length, ITEMS_MAX);
    for (let at = 0; at < shown; at++) {
      let end = at;
      while (end < value.length && !(end in value)) end++;
      if (end > at) {
        parts.push(`<${end - at} empty item${end - at === 1 ? "" : "s"}>`);
        at = end - 1;
      } else parts.push(inner(value[at]));
    }
    const name = className(value);
    const more = value.length - shown;
    const extra = members(value, inner, isIndex);
    if (more > 0 && extra.length === 0) return list(name === "Array" ? "[" : `${name}(${value.length}) [`, parts, more, "]");
    return list(name === "Array" ? "[" : `${name}(${value.length}) [`, [...parts, ...extra], 0, "]");
  }

  function error(value, inner) {
    const stack = typeof value.stack === "string" ? value.stack.trimEnd() : "";
    const head = String(value);
    const extra = members(value, inner, (name) => name === "stack" || name === "message");
    if ("cause" in value) extra.push(`[cause]: ${inner(value.cause)}`);
    const text = stack === "" ? `[${head}]` : stack.startsWith(head) ? stack : `${head}\n${stack}`;
    return extra.length === 0 ? text : `${text} { ${extra.join(", ")} }`;
  }

  function object(value, inner) {
    const name = className(value);
    const tag = typeof value[Symbol.toStringTag] === "string" && value[Symbol.toStringTag] !== name ? ` [${value[Symbol.toStringTag]}]` : "";
    const prefix = name === null ? `[Object: null prototype]${tag} ` : name === "Object" && tag === "" ? "" : `${name}${tag} `;
    return list(`${prefix}{`, members(value, inner), 0, "}");
  }

  function inspect(value, depth, seen) {
    switch (typeof value) {
      case "string": return quoted(value);
      case "number": return Object.is(value, -0) ? "-0" : String(value);
      case "bigint": return `${value}n`;
      case "symbol": case "boolean": case "undefined": return String(value);
      case "function": {
        const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "Function";
        return kind === "class" ? `[class ${value.name || "(anonymous)"}]` : value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]";
      }
    }
    if (value === null) return "null";
    if (seen.includes(value)) return "[Circular *1]";
    const path = [...seen, value];
    const inner = (item) => inspect(item, depth + 1, path);
    if (value instanceof Error) return error(value, inner);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return "Promise {}";
    if (value instanceof String || value instanceof Number || value instanceof Boolean) return `[${className(value)}: ${inspect(value.valueOf(), 0, [])}]`;
    if (depth >= DEPTH_MAX) return Array.isArray(value) ? "[Array]" : `[${className(value) ?? "Object: null prototype"}]`;
    if (Array.isArray(value)) return array(value, inner);
    if (value instanceof Map) return list(`Map(${value.size}) {`, first(value, ([k, v]) => `${inner(k)} => ${inner(v)}`), value.size - ITEMS_MAX, "}");
    if (value instanceof Set) return list(`Set(${value.size}) {`, first(value, inner), value.size - ITEMS_MAX, "}");
    if (value instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${value.byteLength} }`;
    if (ArrayBuffer.isView(value) && "length" in value) return list(`${className(value)}(${value.length}) [`, first(value, inner), value.length - ITEMS_MAX, "]");
    return object(value, inner);
  }

  const show = (value) => (typeof value === "string" ? value : inspect(value, 0, []));

  const number = (value) => (typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : String(Number(value)));

  const formats = {
    s: (value) => (typeof value === "object" && value !== null ? inspect(value, DEPTH_MAX - 1, []) : String(value)),
    d: number,
    i: (value) => (typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : String(parseInt(value))),
    f: (value) => (typeof value === "symbol" ? "NaN" : String(parseFloat(value))),
    j: (value) => { try { return JSON.stringify(value); } catch { return "[Circular]"; } },
    o: (value) => inspect(value, 0, []),
    O: (value) => inspect(value, 0, []),
    c: () => "",
  };

  function line(values) {
    const [start, ...rest] = values;
    if (typeof start !== "string" || rest.length === 0) return values.map(show).join(" ");
    const text = start.replace(/%([sdifjoOc%])/g, (whole, kind) => {
      if (kind === "%") return "%";
      return rest.length === 0 ? whole : formats[kind](rest.shift());
    });
    return [text, ...rest.map(show)].join(" ");
  }

  const at = (level) => function (...values) { write(level, line(values)); };
  globalThis.console = { log: at("info"), info: at("info"), debug: at("debug"), warn: at("warn"), error: at("error") };
  Object.defineProperty(globalThis, "console", { enumerable: false });
  // For the user object's `log`, which uses the same format.
  return (...values) => line(values);
})
