//! k6's modules in TypeScript, and the names of them that Loadstone does not have.

use std::path::PathBuf;

use loadstone_script::{GuestModules, RemoteModules};

/// Id and source. `k6:globals` is evaluated before a script.
const OWN: &[(&str, &str)] = &[
    ("loadstone:commonjs", include_str!("../../script/src/module/commonjs.ts")),
    ("k6:globals", include_str!("js/globals.ts")),
    ("k6:subtle", include_str!("js/subtle.ts")),
    ("k6", include_str!("js/k6.ts")),
    ("k6/html", include_str!("js/html.ts")),
    ("k6/http", include_str!("js/http.ts")),
    ("k6:http-parts", include_str!("js/http-parts.ts")),
    ("k6/metrics", include_str!("js/metrics.ts")),
    ("k6/data", include_str!("js/data.ts")),
    ("k6/execution", include_str!("js/execution.ts")),
    ("k6/encoding", include_str!("js/encoding.ts")),
    ("k6/crypto", include_str!("js/crypto.ts")),
    ("k6/timers", include_str!("js/timers.ts")),
    ("k6/secrets", include_str!("js/secrets.ts")),
    ("k6/ws", include_str!("js/ws.ts")),
    ("k6/websockets", include_str!("js/websockets.ts")),
    ("k6/net/grpc", include_str!("js/grpc.ts")),
    ("k6/experimental/fs", include_str!("js/fs.ts")),
    ("k6/experimental/csv", include_str!("js/csv.ts")),
    ("k6/experimental/redis", include_str!("js/redis.ts")),
    ("k6/experimental/streams", include_str!("js/streams.ts")),
    ("k6/options", ""),
    ("jslib:k6-summary", include_str!("js/k6-summary.ts")),
    ("jslib:k6-utils", include_str!("js/k6-utils.ts")),
    ("jslib:papaparse", include_str!("js/papaparse.ts")),
    ("jslib:url", include_str!("js/jslib-url.ts")),
    ("jslib:httpx", include_str!("js/httpx.ts")),
    ("jslib:formdata", include_str!("js/formdata.ts")),
];

pub(crate) const GUEST: GuestModules = GuestModules { own: OWN, id_of, missing };

/// Whether a module is Loadstone's, and not the user's.
pub(crate) fn is_own(id: &str) -> bool {
    OWN.iter().any(|(own, _)| *own == id)
}

/// Refuses imports by URL.
#[derive(Debug)]
pub(crate) struct NoRemoteModules;

impl RemoteModules for NoRemoteModules {
    fn file(&self, url: &str) -> Result<PathBuf, (String, String)> {
        let help = "add --allow-remote-imports: Loadstone downloads the file once and pins its hash next to the script. \
                    Or save the file in the script's folder and import it by its path";
        Err((format!("the script imports code from {url}"), help.to_owned()))
    }
}

/// The id of a module that a script imports by this specifier. `None`: it is a file.
fn id_of(specifier: &str) -> Option<String> {
    if specifier == "k6/experimental/websockets" {
        return Some("k6/websockets".to_owned());
    }
    if specifier == "k6" || specifier.starts_with("k6/") {
        return Some(specifier.to_owned());
    }
    let (library, _version) = specifier.strip_prefix("https://jslib.k6.io/")?.split_once('/')?;
    let id = format!("jslib:{library}");
    OWN.iter().any(|(own, _)| *own == id).then_some(id)
}

/// Exports that fail when they are used: called, constructed, or read.
fn missing(id: &str, names: &[&str]) -> String {
    let mut text = format!(
        "const __missing = (name) => {{ const fail = () => {{ throw new Error(`Loadstone does not support \\`${{name}}\\` of \"{id}\": \
         see docs/k6-compatibility.md, or run this script with k6`); }}; \
         return new Proxy(function () {{}}, \
         {{ apply: fail, construct: fail, get: (target, key) => typeof key === 'symbol' ? undefined : fail(), set: fail }}); }};\n"
    );
    for (index, name) in names.iter().enumerate() {
        text.push_str(&format!("const __m{index} = __missing({name:?});\nexport {{ __m{index} as {name} }};\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6s_modules_and_known_libraries_have_ids_and_files_have_none() {
        assert_eq!(id_of("k6/http").as_deref(), Some("k6/http"));
        assert_eq!(id_of("k6/x/anything").as_deref(), Some("k6/x/anything"));
        assert_eq!(id_of("https://jslib.k6.io/k6-utils/1.4.0/index.js").as_deref(), Some("jslib:k6-utils"));
        for file in ["./k6.js", "k6-lib", "https://jslib.k6.io/ajv/6.12.5/index.js", "https://example.org/k6/http"] {
            assert_eq!(id_of(file), None, "{file}");
        }
    }
}
