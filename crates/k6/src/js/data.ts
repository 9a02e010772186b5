// The module "k6/data".
declare const globalThis: any;
const k6 = globalThis.__k6;
k6.add("data");

const isIndex = (key: any) => typeof key === "string" && /^(0|[1-9]\d*)$/.test(key);

/** An array that all VUs share. Its elements are parsed when they are read, as in k6. */
function SharedArray(this: any, name: string, build: () => any[]) {
  if (typeof name !== "string" || name === "") throw new TypeError("SharedArray expects a name and a function");
  let length = k6.sharedLength(name);
  if (length === undefined || length === null) {
    const built = build();
    if (!Array.isArray(built)) throw new TypeError(`SharedArray "${name}": the function must return an array`);
    k6.shareArray(name, built.map((element) => JSON.stringify(element) ?? "null"));
    length = k6.sharedLength(name);
  }
  const refuse = () => {
    throw new TypeError("a SharedArray cannot be changed");
  };
  const read = (key: any) => (Number(key) < length ? JSON.parse(k6.sharedElement(name, Number(key))) : undefined);
  return new Proxy([] as any[], {
    get: (target, key) => (key === "length" ? length : isIndex(key) ? read(key) : Reflect.get(target, key)),
    has: (target, key) => (isIndex(key) ? Number(key) < length : Reflect.has(target, key)),
    ownKeys: () => [...Array.from({ length }, (_, index) => String(index)), "length"],
    getOwnPropertyDescriptor: (target, key) =>
      isIndex(key) && Number(key) < length
        ? { value: read(key), enumerable: true, configurable: true, writable: false }
        : Reflect.getOwnPropertyDescriptor(target, key),
    set: refuse,
    deleteProperty: refuse,
    defineProperty: refuse,
  });
}

export { SharedArray };
export default { SharedArray };
