//! k6's modules in TypeScript, and the names of them that Loadstone does not have.

use loadstone_script::GuestModules;

/// Id and source. `k6:globals` is evaluated before a script.
const OWN: &[(&str, &str)] = &[
    ("loadstone:commonjs", include_str!("../../script/src/module/commonjs.ts")),
    ("k6:globals", include_str!("js/globals.ts")),
    ("k6", include_str!("js/k6.ts")),
    ("k6/http", include_str!("js/http.ts")),
    ("k6/metrics", include_str!("js/metrics.ts")),
    ("k6/data", include_str!("js/data.ts")),
    ("k6/execution", include_str!("js/execution.ts")),
    ("k6/encoding", include_str!("js/encoding.ts")),
    ("k6/crypto", include_str!("js/crypto.ts")),
    ("k6/timers", include_str!("js/timers.ts")),
    ("k6/options", ""),
    ("jslib:k6-utils", include_str!("js/k6-utils.ts")),
];

pub(crate) const GUEST: GuestModules = GuestModules { own: OWN, id_of, missing };

/// The id of a module that a script imports by this specifier. `None`: it is a file.
fn id_of(specifier: &str) -> Option<String> {
    if specifier == "k6" || specifier.starts_with("k6/") {
        return Some(specifier.to_owned());
    }
    let library = specifier.strip_prefix("https://jslib.k6.io/")?;
    library.starts_with("k6-utils/").then(|| "jslib:k6-utils".to_owned())
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
        for file in ["./k6.js", "k6-lib", "https://jslib.k6.io/papaparse/5.1.1/index.js", "https://example.org/k6/http"] {
            assert_eq!(id_of(file), None, "{file}");
        }
    }
}
