// `require` for CommonJS packages: the cache, and the ES modules that it can load.
const cache = new Map<string, { exports: any; id: string; loaded: boolean }>();
const provided = new Map<string, any>();

/** Values that packages test to find out where they run. */
const process = Object.freeze({
  env: Object.freeze({ NODE_ENV: "production" }), argv: [], platform: "linux", versions: {}, cwd: () => "/", nextTick: queueMicrotask,
});

/** Makes an ES module (or a JSON file) available to `require`. */
export function provide(id: string, namespace: any) {
  provided.set(id, namespace);
}

/** The result of `require` for this id. */
export function load(id: string): any {
  const lent = provided.get(id);
  // k6 returns its own modules as the object that `import http from "k6/http"` has, so that libraries can replace its functions.
  const isDefault = id.endsWith(".json") || id === "k6" || id.startsWith("k6/");
  if (lent !== undefined) return isDefault ? (lent.default ?? lent) : lent;
  const known = cache.get(id);
  if (known) return known.exports;
  const module = { exports: {}, id, loaded: false };
  cache.set(id, module);
  const [factory, imports] = __loadstone.commonjs(id);
  const require = (specifier: string) => {
    const target = imports[specifier];
    if (target === undefined) {
      throw new Error(`cannot find "${specifier}", required by ${id}: packages that need Node.js itself cannot run here`);
    }
    return load(target);
  };
  const folder = id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : ".";
  factory.call(module.exports, module.exports, require, module, id, folder, process, globalThis);
  module.loaded = true;
  return module.exports;
}

/** The default export that importers expect. Transpiled ES modules have their own. */
export function pick(exported: any): any {
  return exported?.__esModule && "default" in exported ? exported.default : exported;
}
