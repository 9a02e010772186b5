// `URL` and `URLSearchParams` with the interface of the WHATWG standard.
(function (native) {
  const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  const text = (value) => String(value).toWellFormed();

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};

    constructor(init = "") {
      if (typeof init === "object" && init !== null) {
        if (typeof init[Symbol.iterator] === "function") {
          for (const pair of init) {
            const [name, value, ...more] = typeof pair === "object" && pair !== null ? pair : [];
            if (value === undefined || more.length > 0) throw new TypeError("URLSearchParams: each entry is a pair of name and value");
            this.#pairs.push([text(name), text(value)]);
          }
        } else for (const name of Object.keys(init)) this.#pairs.push([text(name), text(init[name])]);
      } else this.#pairs = native.pairs(text(init).replace(/^\?/, ""));
    }

    // How a URL and its parameters stay equal.
    static bound(query, changed) {
      const params = new URLSearchParams();
      params.#pairs = native.pairs(query);
      params.#changed = changed;
      return params;
    }
    static reread(params, query) { params.#pairs = native.pairs(query); }

    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([text(name), text(value)]); this.#changed(); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== text(name) || (value !== undefined && pair[1] !== text(value)));
      this.#changed();
    }
    get(name) { return this.#pairs.find((pair) => pair[0] === text(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === text(name)).map((pair) => pair[1]); }
    has(name, value) { return this.#pairs.some((pair) => pair[0] === text(name) && (value === undefined || pair[1] === text(value))); }
    set(name, value) {
      const first = this.#pairs.findIndex((pair) => pair[0] === text(name));
      if (first < 0) this.#pairs.push([text(name), text(value)]);
      else {
        this.#pairs[first][1] = text(value);
        this.#pairs = this.#pairs.filter((pair, at) => at <= first || pair[0] !== text(name));
      }
      this.#changed();
    }
    // By UTF-16 code units, as the standard requires. Equal names stay in order.
    sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#changed(); }
    forEach(visit, self) { for (const [name, value] of this) visit.call(self, value, name, this); }
    *entries() { for (let at = 0; at < this.#pairs.length; at++) yield [...this.#pairs[at]]; }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return native.query(this.#pairs); }
  }
  const { bound, reread } = URLSearchParams;
  delete URLSearchParams.bound;
  delete URLSearchParams.reread;

  class URL {
    #parts;
    #params;

    constructor(url, base) {
      if (arguments.length === 0) throw new TypeError("URL: 1 argument required");
      this.#parts = native.parse(text(url), base === undefined ? undefined : text(base));
      if (this.#parts === undefined) {
        throw Object.assign(new TypeError(`Invalid URL: ${url}${base === undefined ? "" : ` (base ${base})`}`), { code: "ERR_INVALID_URL" });
      }
    }

    static canParse(url, base) { return URL.parse(url, base) !== null; }
    static parse(url, base) { try { return new URL(url, base); } catch { return null; } }

    get origin() { return this.#parts[1]; }
    get searchParams() {
      this.#params ??= bound(this.#parts[9].slice(1), () => { this.#parts = native.set(this.#parts[0], "search", this.#params.toString()); });
      return this.#params;
    }
    toString() { return this.#parts[0]; }
    toJSON() { return this.#parts[0]; }

    static {
      PARTS.forEach((part, index) => {
        if (part === "origin") return;
        Object.defineProperty(URL.prototype, part, {
          get() { return this.#parts[index]; },
          set(value) {
            const parts = native.set(this.#parts[0], part, text(value));
            if (parts === undefined) throw new TypeError(`Invalid URL: ${value}`);
            this.#parts = parts;
            if (this.#params && (part === "search" || part === "href")) reread(this.#params, parts[9].slice(1));
          },
          enumerable: true, configurable: true,
        });
      });
    }
  }

  for (const [name, value] of Object.entries({ URL, URLSearchParams })) {
    Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true });
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
})
