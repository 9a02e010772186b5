//! Finds the file that an import refers to.

use std::path::{Path, PathBuf};

use oxc_resolver::{ResolveOptions, Resolver};

/// The target of an import specifier.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResolvedImport {
    /// The `"loadstone"` module.
    Builtin,
    File(PathBuf),
}

/// Why an import has no target.
#[derive(Debug)]
pub(super) struct Unresolved {
    pub(super) message: String,
    pub(super) help: String,
}

/// Resolvers for `import` and for `require`, which differ in the conditions of `exports` maps.
pub(super) struct Resolvers {
    import: Resolver,
    require: Resolver,
}

impl Resolvers {
    pub(super) fn new() -> Self {
        let base = ResolveOptions {
            extensions: [".ts", ".mts", ".cts", ".mjs", ".js", ".cjs", ".json"].map(str::to_owned).to_vec(),
            extension_alias: vec![
                (".js".to_owned(), vec![".ts".to_owned(), ".js".to_owned()]),
                (".mjs".to_owned(), vec![".mts".to_owned(), ".mjs".to_owned()]),
                (".cjs".to_owned(), vec![".cts".to_owned(), ".cjs".to_owned()]),
            ],
            main_fields: vec!["module".to_owned(), "main".to_owned()],
            builtin_modules: false,
            node_path: false,
            ..ResolveOptions::default()
        };
        let import =
            ResolveOptions { condition_names: ["loadstone", "module", "import", "default"].map(str::to_owned).to_vec(), ..base.clone() };
        let require = ResolveOptions {
            condition_names: ["loadstone", "require", "default"].map(str::to_owned).to_vec(),
            main_fields: vec!["main".to_owned()],
            ..base
        };
        Self { import: Resolver::new(import), require: Resolver::new(require) }
    }

    /// The target of `specifier` in the file `importer`.
    pub(super) fn resolve(&self, importer: &Path, specifier: &str, by_require: bool) -> Result<ResolvedImport, Unresolved> {
        if specifier == "loadstone" {
            return Ok(ResolvedImport::Builtin);
        }
        let resolver = if by_require { &self.require } else { &self.import };
        let folder = importer.parent().unwrap_or(Path::new("."));
        match resolver.resolve(folder, specifier) {
            Ok(resolution) => Ok(ResolvedImport::File(resolution.into_path_buf())),
            Err(_) if node_builtin(specifier).is_some() => Err(no_builtin(specifier)),
            Err(error) => Err(not_found(specifier, &error.to_string())),
        }
    }
}

fn not_found(specifier: &str, reason: &str) -> Unresolved {
    let relative = specifier.starts_with('.') || specifier.starts_with('/');
    let help = if relative {
        "the path is relative to the importing file; .ts, .js, .mjs, .cjs, .json and index files are tried".to_owned()
    } else if specifier.contains("://") {
        "modules are not fetched over the network, so that every run runs the same code: save the file in the test's folder and import it by its path, or \
         install the package (`npm install`)"
            .to_owned()
    } else if reason.contains("not exported") {
        format!("the package's package.json does not allow this import: {reason}")
    } else {
        format!(
            "install the package in the test's folder (`npm install {}`), or write \"./{specifier}\" for a file of the test",
            package(specifier)
        )
    };
    Unresolved { message: format!("cannot find \"{specifier}\""), help }
}

/// `@scope/name/path` → `@scope/name`.
fn package(specifier: &str) -> String {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    specifier.split('/').take(parts).collect::<Vec<_>>().join("/")
}

fn node_builtin(specifier: &str) -> Option<&str> {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    let first = name.split('/').next().unwrap_or(name);
    const BUILTIN: [&str; 32] = [
        "assert",
        "async_hooks",
        "buffer",
        "child_process",
        "cluster",
        "console",
        "crypto",
        "dgram",
        "dns",
        "events",
        "fs",
        "http",
        "http2",
        "https",
        "module",
        "net",
        "os",
        "path",
        "perf_hooks",
        "process",
        "querystring",
        "readline",
        "stream",
        "string_decoder",
        "timers",
        "tls",
        "tty",
        "url",
        "util",
        "vm",
        "worker_threads",
        "zlib",
    ];
    (specifier.starts_with("node:") || BUILTIN.contains(&first)).then_some(name)
}

fn no_builtin(specifier: &str) -> Unresolved {
    let name = node_builtin(specifier).unwrap_or(specifier);
    let instead = match name.split('/').next().unwrap_or(name) {
        "crypto" => "use `hash` and `hmac` from \"loadstone\" for digests and signatures, and `uniqueId` or `random` for identifiers",
        "fs" => "use `csv`, `json`, `jsonl` or `template` from \"loadstone\" to read files; a request sends one with `file`",
        "http" | "https" | "http2" | "net" | "tls" | "dgram" | "dns" => {
            "use the `user` of the scenario (`user.get(…)`): only its requests are measured"
        }
        "url" | "querystring" => "`URL` and `URLSearchParams` are global",
        "buffer" | "string_decoder" => "use `Uint8Array`, `TextEncoder`, `TextDecoder`, `atob` and `btoa`, which are global",
        "timers" => "`setTimeout`, `setInterval` and `user.pause` need no import",
        "perf_hooks" => "`performance.now()` is global",
        "process" | "os" => "declare a parameter (`param.string(…)`): it can be set with -p or from the environment",
        "assert" => "use `user.check(…)` or the request's `expect`",
        "console" => "`console` is global",
        _ => "packages that need Node.js itself cannot run here; pure JavaScript ones can",
    };
    Unresolved { message: format!("\"{specifier}\" is part of Node.js, and scenarios do not run in Node.js"), help: instead.to_owned() }
}
