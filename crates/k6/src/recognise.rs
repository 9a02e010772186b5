//! Whether a file is a k6 script: it, or a file that it imports, imports a module of k6, and none imports "loadstone". A script that imports neither is
//! one of k6 if it exports a function or options, because a test of Loadstone needs an import.

use std::path::{Path, PathBuf};

/// Files to read at most.
const FILES_MAX: usize = 200;

/// Whether a test file is a k6 script. A file that cannot be read is none; loading it reports the reason.
pub fn is_k6_script(path: &Path) -> bool {
    match imports(path) {
        Imports::K6 => true,
        Imports::Loadstone => false,
        Imports::Neither => exports_load(path) && !is_written_for_loadstone(path),
    }
}

/// Whether a file, or one that it imports, imports a module of k6.
pub fn imports_k6(path: &Path) -> bool {
    imports(path) == Imports::K6
}

/// A test of Loadstone whose import was forgotten.
fn is_written_for_loadstone(path: &Path) -> bool {
    let named = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.contains(".load."));
    named || std::fs::read_to_string(path).is_ok_and(|text| words(&text).contains("export default test("))
}

/// Whose modules a file and its imports use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Imports {
    Loadstone,
    K6,
    Neither,
}

fn imports(path: &Path) -> Imports {
    let (mut waiting, mut seen, mut found) = (vec![path.to_path_buf()], Vec::<PathBuf>::new(), false);
    while let Some(file) = waiting.pop() {
        let Ok(file) = file.canonicalize() else { continue };
        if seen.contains(&file) || seen.len() >= FILES_MAX {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for specifier in specifiers(&text) {
            if specifier == "loadstone" {
                return Imports::Loadstone;
            }
            found |= specifier == "k6" || specifier.starts_with("k6/") || specifier.starts_with("https://jslib.k6.io/");
            if specifier.starts_with('.') {
                let target = file.parent().unwrap_or(Path::new("/")).join(specifier);
                let bare = target.with_extension("");
                waiting.extend(
                    [target.clone(), with(&target, ".js"), with(&target, ".ts"), with(&bare, ".ts")]
                        .into_iter()
                        .filter(|file| file.is_file()),
                );
            }
        }
        seen.push(file);
    }
    if found { Imports::K6 } else { Imports::Neither }
}

/// A text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a k6 script defines load, and is not only imported by others: it exports a default function, or options.
pub fn exports_load(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let words = words(&text);
    [
        "export default",
        "exports.default",
        "as default",
        "export const options",
        "export let options",
        "export var options",
        "exports.options",
    ]
    .iter()
    .any(|written| words.contains(written))
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Strings that follow `from`, `import`, `import(` or `require(`. Also in comments, which does no harm.
fn specifiers(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(['"', '\'']).filter_map(|(at, quote)| {
        let before = text[..at].trim_end().trim_end_matches('(').trim_end();
        let follows = ["from", "import", "require"].iter().any(|word| before.ends_with(word));
        let rest = text[at + 1..].split_once(quote).map(|(inside, _)| inside);
        rest.filter(|inside| follows && !inside.contains('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_recognised_by_what_they_and_their_files_import() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        file("api.ts", "import http from \"k6/http\";");
        for (name, text, is_k6) in [
            ("a.js", "import http from 'k6/http';\nexport default function () {}", true),
            ("b.js", "const http = require(\"k6/http\");", true),
            ("c.ts", "import { list } from \"./api.js\";", true),
            ("d.js", "import { x } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';", true),
            ("e.load.ts", "import { test } from \"loadstone\";", false),
            ("f.load.ts", "import { test } from \"loadstone\"; import \"./api\"", false),
            ("g.js", "console.log('k6')", false),
            ("h.js", "export default function () { console.log(__VU); }", true),
            ("i.js", "export const options = { vus: 2 };\nexport function buy() {}", true),
            ("j.js", "export default test({ load: [] });", false),
            ("k.load.ts", "export default function () {}", false),
        ] {
            assert_eq!(is_k6_script(&file(name, text)), is_k6, "{name}");
        }
        assert!(!is_k6_script(&folder.path().join("none.js")));
        assert!(imports_k6(&folder.path().join("a.js")) && !imports_k6(&folder.path().join("h.js")));
        for (name, text, defines) in [
            ("l.js", "export default function () {}", true),
            ("m.js", "export  const options = {}; export function buy() {}", true),
            ("n.js", "export function buy() {}", false),
        ] {
            assert_eq!(exports_load(&file(name, text)), defines, "{name}");
        }
    }
}
