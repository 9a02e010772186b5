//! Rules for one file at a time: its size, its name, its first line, leftovers, paths of one machine.

use std::path::Path;

use super::exceptions::{ExceptionRule, Exceptions, FILE as EXCEPTIONS};
use super::width;
use crate::generated;

/// Lines without tests. A longer file needs a reason.
const FILE_LINES_MAX: usize = 700;
/// Names that do not describe the contents.
const EMPTY_NAMES: &[&str] = &["base", "common", "core", "helper", "helpers", "manager", "managers", "misc", "util", "utils"];
/// Concatenated, since this file would otherwise violate its own rule.
const LEFTOVERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
const HOMES: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

const CODE: &[&str] = &["rs", "ts", "js", "mjs", "svelte"];
/// Written and read by programs.
const FOREIGN: &[&str] = &["crates/report/assets"];
/// Written by the bench, the accuracy test and the self-test.
const RESULTS: &str = "bench/results";
/// Tests of the crates write the page's types.
const GENERATED_TYPES: &str = "web/src/generated";

const TEXT: &[&str] = &["css", "html", "json", "md", "py", "sh", "sql", "toml", "txt", "yml", "yaml"];

/// Complaints about one file; `None` for a kind of file that has no rules. `checkout` is the path of this checkout, which no file may contain.
pub(super) fn complaints(path: &Path, text: &str, checkout: &str, exceptions: &Exceptions) -> Option<Vec<String>> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_code = CODE.contains(&extension);
    let is_foreign = FOREIGN.iter().any(|foreign| path.starts_with(foreign)) || path.ends_with("package-lock.json");
    if is_foreign || (!is_code && !TEXT.contains(&extension)) {
        return None;
    }
    let name = path.to_string_lossy();
    let mut found = leftovers(text);
    found.extend(machine_paths(text, checkout));
    if !generated::is_document(&name) && !path.starts_with(RESULTS) && !path.starts_with(GENERATED_TYPES) {
        found.extend(width::too_wide(extension, text));
    }
    if is_code {
        found.extend(empty_names(path));
        found.extend(opening(path, text));
        found.extend(too_long(text).filter(|_| !exceptions.allow(ExceptionRule::LongFile, &name)));
    }
    Some(found.into_iter().map(|complaint| format!("{name}{complaint}")).collect())
}

fn too_long(text: &str) -> Option<String> {
    let lines = lines_without_tests(text);
    (lines > FILE_LINES_MAX)
        .then(|| format!(": {lines} lines without its tests (at most {FILE_LINES_MAX}); split it, or give a reason in {EXCEPTIONS}"))
}

/// Unit tests are at the end of a file, so everything after the first test module counts as tests.
fn lines_without_tests(text: &str) -> usize {
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

fn empty_names(path: &Path) -> Vec<String> {
    let parts = path.components().filter_map(|part| Path::new(part.as_os_str()).file_stem()?.to_str());
    parts.filter(|part| EMPTY_NAMES.contains(part)).map(|part| format!(": `{part}` does not describe the contents")).collect()
}

/// Every Rust file begins with its purpose.
fn opening(path: &Path, text: &str) -> Option<String> {
    let rust = path.extension().is_some_and(|extension| extension == "rs");
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    (rust && !first.starts_with("//!")).then(|| ":1: no `//!` at the beginning; state the file's purpose".to_owned())
}

fn leftovers(text: &str) -> Vec<String> {
    let finds = |line: &str| LEFTOVERS.iter().find(|word| contains_word(line, word)).copied();
    let words =
        numbered(text).filter_map(|(number, line)| finds(line).map(|word| format!(":{number}: {word} left in; do it or remove it")));
    // Concatenated, as above.
    let ignored = numbered(text).filter(|(_, line)| line.trim_start().starts_with(concat!("#[ign", "ore")));
    words
        .chain(ignored.map(|(number, _)| format!(":{number}: a test that never runs; .config/nextest.toml chooses which run nightly")))
        .collect()
}

fn machine_paths(text: &str, checkout: &str) -> Vec<String> {
    let names_machine = |line: &str| line.contains(checkout) || HOMES.iter().any(|home| begins_path(line, home));
    let lines = numbered(text).filter(|(_, line)| names_machine(line));
    lines.map(|(number, _)| format!(":{number}: a path of this machine")).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

/// Whether a path in the line begins with `home`, which may also be the middle of a URL.
fn begins_path(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + home.len()..].chars().next();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "/._-*}".contains(letter)) && after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_leaves_the_tests_out() {
        let long = "let a = 1;\n".repeat(FILE_LINES_MAX + 1);
        assert!(too_long(&long).is_some());
        let tests = "let a = 1;\n".repeat(FILE_LINES_MAX) + "#[cfg(test)]\nmod tests {\n" + &"let b = 2;\n".repeat(500) + "}\n";
        assert_eq!(too_long(&tests), None);
    }

    #[test]
    fn empty_names_count_as_files_and_as_folders() {
        assert_eq!(empty_names(Path::new("crates/engine/src/utils.rs")).len(), 1);
        assert_eq!(empty_names(Path::new("crates/common/src/lib.rs")).len(), 1);
        assert!(empty_names(Path::new("crates/metrics/src/database.rs")).is_empty());
    }

    #[test]
    fn leftovers_are_words_not_letters() {
        let word = LEFTOVERS[0];
        assert_eq!(leftovers(&format!("a\n// {word}: later")), [format!(":2: {word} left in; do it or remove it")]);
        assert!(leftovers(&format!("const {word}S_SEEN: u32 = 1;")).is_empty());
    }

    #[test]
    fn machine_paths_are_distinguished_from_urls() {
        let home = HOMES[1];
        assert_eq!(machine_paths(&format!("cd {home}ann/loadstone"), "/nowhere").len(), 1);
        assert!(machine_paths(&format!("GET https://example.com{home}page"), "/nowhere").is_empty());
        assert_eq!(machine_paths("see /srv/checkout/x", "/srv/checkout").len(), 1);
    }

    #[test]
    fn a_rust_file_begins_with_its_purpose() {
        assert!(opening(Path::new("a.rs"), "use std::fs;\n").is_some());
        assert!(opening(Path::new("a.rs"), "//! Reads files.\n").is_none());
        assert!(opening(Path::new("a.ts"), "import fs from \"fs\";\n").is_none());
    }
}
