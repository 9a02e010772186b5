//! Libraries in the binary of a release that are no crates: those in the page, and the C library of a static binary.
//!
//! Read [`libraries`]. Deliberately absent: the standard library of Rust, and what the libraries of a Mac contain.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use checkout::Workspace;
use serde_json::Value;

use super::target::{ReleaseTarget, TargetSystem};
use super::zig;

/// Written by `npm run assets` in `web/` together with the page.
const OF_PAGE: &str = "crates/report/assets/report.libraries.json";
/// glibc's own description of itself (csu/version.c). Rust's standard library asks for its version, so each static program in Rust contains it.
const GLIBC_BANNER: [&str; 2] = ["GNU C Library (", " release version "];
/// Debian's notices of glibc, and the licence that they refer to.
const GLIBC_TEXTS: [&str; 2] = ["/usr/share/doc/libc6-dev/copyright", "/usr/share/common-licenses/LGPL-2.1"];

/// A library that is no crate.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundledLibrary {
    pub(super) name: String,
    /// Empty if unknown.
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: String,
    /// Its package URL.
    pub(super) url: String,
    /// The part of the release that contains it.
    pub(super) part: String,
    /// Its licence and notices; empty if this machine does not have them.
    pub(super) texts: Vec<String>,
    /// Where its licence is published.
    pub(super) licence_url: Option<&'static str>,
}

/// Those in these binaries.
pub(super) fn libraries(workspace: &Workspace, binaries: &[(ReleaseTarget, PathBuf)]) -> Result<Vec<BundledLibrary>> {
    let list = fs::read_to_string(workspace.root.join(OF_PAGE)).with_context(|| format!("reading {OF_PAGE}"))?;
    let mut all = of_page(&list).with_context(|| format!("{OF_PAGE} has an unexpected structure; write it by `cargo xtask web`"))?;
    for (target, binary) in binaries.iter().filter(|(target, _)| target.system == TargetSystem::Linux) {
        let file = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let part = format!("the binary for {}", target.name());
        all.push(glibc_version(&file).map_or_else(|| musl(&zig::musl(workspace), &part), |version| glibc(version, &part)));
    }
    Ok(all)
}

fn of_page(list: &str) -> Option<Vec<BundledLibrary>> {
    let list: Value = serde_json::from_str(list).ok()?;
    let library = |library: &Value| {
        let text = |field: &str| library[field].as_str().map(str::to_owned);
        let (name, version) = (text("name")?, text("version")?);
        // A package URL escapes the sign of a scope (package-url/purl-spec).
        let url = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
        let part = "the page".to_owned();
        Some(BundledLibrary { name, version, licence: text("licence")?, url, part, texts: vec![text("text")?], licence_url: None })
    };
    list.as_array()?.iter().map(library).collect()
}

fn glibc(version: String, part: &str) -> BundledLibrary {
    BundledLibrary {
        name: "glibc".to_owned(),
        licence: "LGPL-2.1-or-later".to_owned(),
        url: format!("pkg:generic/glibc@{version}"),
        version,
        part: part.to_owned(),
        texts: texts(&GLIBC_TEXTS.map(Path::new)),
        licence_url: Some("https://sourceware.org/git/?p=glibc.git;a=blob;f=LICENSES"),
    }
}

/// A static program without glibc contains musl. `folder`: that of zig, which has its sources.
fn musl(folder: &Path, part: &str) -> BundledLibrary {
    let header = fs::read_to_string(folder.join("src/internal/version.h")).unwrap_or_default();
    let version = header.split('"').nth(1).unwrap_or_default().to_owned();
    BundledLibrary {
        name: "musl".to_owned(),
        licence: "MIT".to_owned(),
        url: if version.is_empty() { "pkg:generic/musl".to_owned() } else { format!("pkg:generic/musl@{version}") },
        version,
        part: part.to_owned(),
        texts: texts(&[&folder.join("COPYRIGHT")]),
        licence_url: Some("https://git.musl-libc.org/cgit/musl/tree/COPYRIGHT"),
    }
}

/// All of these files, or none: a licence without its notices would be incomplete.
fn texts(files: &[&Path]) -> Vec<String> {
    files.iter().map(|file| fs::read_to_string(file).map(|text| text.trim().to_owned())).collect::<Result<_, _>>().unwrap_or_default()
}

/// The version that glibc states of itself in a program.
fn glibc_version(program: &[u8]) -> Option<String> {
    let [begin, label] = GLIBC_BANNER;
    let at = program.windows(begin.len()).position(|window| window == begin.as_bytes())?;
    let line = program[at..].split(|byte| [b'\n', 0].contains(byte)).next()?;
    let line = String::from_utf8_lossy(line);
    let (_, version) = line.split_once(label)?;
    Some(version.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_list_of_the_page_names_each_library_with_its_licence() {
        let list = of_page(include_str!("../../../crates/report/assets/report.libraries.json")).unwrap();
        let font = list.iter().find(|library| library.name.starts_with("@fontsource")).unwrap();
        assert_eq!(font.url, format!("pkg:npm/%40fontsource-variable/hanken-grotesk@{}", font.version));
        assert!(font.licence == "OFL-1.1" && font.texts[0].contains("SIL OPEN FONT LICENSE"));
        assert!(list.iter().any(|library| library.name == "svelte" && library.texts[0].starts_with("Copyright (c)")));
        assert_eq!(of_page("[{ \"name\": \"svelte\" }]"), None);
    }

    #[test]
    fn a_static_program_states_its_glibc() {
        let scratch = std::env::temp_dir().join(format!("loadstone-bundled-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        fs::write(scratch.join("main.c"), "#include <gnu/libc-version.h>\nint main(void) { return !gnu_get_libc_version(); }\n").unwrap();
        let compiled = std::process::Command::new("cc").args(["-static", "main.c", "-o", "main"]).current_dir(&scratch).status().unwrap();
        let program = fs::read(scratch.join("main")).unwrap();
        fs::remove_dir_all(scratch).unwrap();
        let configured = checkout::process::output(std::process::Command::new("getconf").arg("GNU_LIBC_VERSION")).unwrap();
        assert!(compiled.success());
        assert_eq!(format!("glibc {}", glibc_version(&program).unwrap()), configured.trim());
        assert_eq!(glibc_version(b"\x7fELF without"), None);
        assert_eq!(glibc_version(b"GNU C Library (cut o"), None);
    }

    #[test]
    fn musl_has_the_version_and_the_notices_of_its_sources() {
        let folder = std::env::temp_dir().join(format!("loadstone-bundled-musl-{}", std::process::id()));
        fs::create_dir_all(folder.join("src/internal")).unwrap();
        fs::write(folder.join("src/internal/version.h"), "#define VERSION \"1.2.5\"\n").unwrap();
        fs::write(folder.join("COPYRIGHT"), "musl as a whole is licensed\n").unwrap();
        let found = musl(&folder, "the binary");
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((found.url.as_str(), &*found.texts), ("pkg:generic/musl@1.2.5", ["musl as a whole is licensed".to_owned()].as_slice()));
        let unknown = musl(&folder, "the binary");
        assert_eq!((unknown.url.as_str(), unknown.texts.len()), ("pkg:generic/musl", 0));
    }
}
