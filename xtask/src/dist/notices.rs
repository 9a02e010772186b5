//! The licences of the libraries in the binary. Most of them ask that their text comes with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::bundled::BundledLibrary;
use super::linked;
use super::release::{NOTICES, Release};

/// How the names of files with a licence begin, in capitals.
const BEGINS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
/// Folders below that of a crate, since crates of C libraries have the sources of these inside.
const DEPTH: usize = 3;
const RULE: &str = "\n--------------------------------------------------------------------------------\n";

/// One file for all packages of a release.
pub(super) fn write(metadata: &Value, bundled: &[BundledLibrary], release: &Release) -> Result<()> {
    let packages = linked::packages(metadata).context("`cargo metadata` wrote an unexpected structure")?;
    Ok(fs::write(release.folder.join(NOTICES), notices(&packages, bundled)?)?)
}

/// Each text once, after the libraries that it belongs to.
fn notices(packages: &[&Value], bundled: &[BundledLibrary]) -> Result<String> {
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    let mut without = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let name = format!("{} {}", text("name"), text("version"));
        let folder = Path::new(text("manifest_path")).parent().with_context(|| format!("{name} has no folder"))?;
        let found = licences(folder, DEPTH)?;
        if found.is_empty() {
            without.push(format!("{name}: {}", text("license")));
        }
        for licence in found {
            let names = texts.entry(licence).or_default();
            if names.last() != Some(&name) {
                names.push(name.clone());
            }
        }
    }
    for library in bundled {
        let name = format!("{} {} (in {})", library.name, library.version, library.part).replace("  ", " ");
        if library.texts.is_empty() {
            without.push(format!("{name}: {}, {}", library.licence, library.licence_url.unwrap_or_default()));
        }
        library.texts.iter().for_each(|text| texts.entry(text.clone()).or_default().push(name.clone()));
    }
    let mut all = "Loadstone contains these libraries, under these licences.\n".to_owned();
    for (licence, names) in &texts {
        writeln!(all, "{RULE}{}{RULE}{licence}", names.join("\n"))?;
    }
    if !without.is_empty() {
        write!(all, "{RULE}These come without a text, and state their licence.\n\n{}\n", without.join("\n"))?;
    }
    Ok(all)
}

/// The texts in a crate's folder and those below, without white space at their ends.
fn licences(folder: &Path, depth: usize) -> Result<Vec<String>> {
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot read {}", folder.display()))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let (name, kind) = (entry.file_name().to_string_lossy().to_uppercase(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            found.extend(licences(&entry.path(), depth - 1)?);
        } else if kind.is_file() && BEGINS.iter().any(|begin| name.starts_with(begin)) {
            found.push(String::from_utf8_lossy(&fs::read(entry.path())?).trim().to_owned());
        }
    }
    found.retain(|text| !text.is_empty());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_text_is_written_once_with_the_crates_that_it_belongs_to() {
        let scratch = std::env::temp_dir().join(format!("loadstone-notices-{}", std::process::id()));
        let package = |name: &str, files: &[(&str, &str)]| {
            let folder = scratch.join(name);
            fs::create_dir_all(folder.join("library")).unwrap();
            files.iter().for_each(|(file, text)| fs::write(folder.join(file), text).unwrap());
            json!({ "name": name, "version": "1.0.0", "license": "MIT", "manifest_path": folder.join("Cargo.toml") })
        };
        let packages = [
            package("one", &[("LICENSE-MIT", "Permission is granted.\n"), ("license-apache.txt", "Terms"), ("lib.rs", "")]),
            package("two", &[("COPYING", "Permission is granted."), ("library/LICENSE", "Of the library.")]),
            package("three", &[("README.md", "three")]),
        ];
        let library = |name: &str, version: &str, texts: &[&str]| BundledLibrary {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: "MIT".to_owned(),
            url: String::new(),
            part: "the page".to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            licence_url: Some("https://example.com"),
        };
        let bundled = [library("four", "2.0.0", &["Permission is granted."]), library("five", "", &[])];
        let all = notices(&packages.iter().collect::<Vec<_>>(), &bundled).unwrap();
        fs::remove_dir_all(scratch).unwrap();
        let parts: Vec<&str> = all.split(RULE).map(str::trim).collect();
        assert_eq!(
            parts[1..],
            [
                "two 1.0.0",
                "Of the library.",
                "one 1.0.0\ntwo 1.0.0\nfour 2.0.0 (in the page)",
                "Permission is granted.",
                "one 1.0.0",
                "Terms",
                "These come without a text, and state their licence.\n\nthree 1.0.0: MIT\nfive (in the page): MIT, https://example.com"
            ]
        );
    }
}
