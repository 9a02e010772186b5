//! An unused dependency costs compile time.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::exceptions::{ExceptionRule, Exceptions};
use crate::metadata::Package;

/// Complaints about dependencies that no source of the package names: no file of `src`, or no file at all for a dependency of tests.
/// `sources` are paths, relative to the workspace, and texts.
pub(super) fn unused<'a>(package: &Package, sources: impl Iterator<Item = (&'a str, &'a str)>, exceptions: &Exceptions) -> Vec<String> {
    let (mut shipped, mut all) = (BTreeSet::new(), BTreeSet::new());
    let own = format!("{}/", package.folder);
    for (path, text) in sources {
        let Some(inner) = path.strip_prefix(&own) else { continue };
        let names = crates_named(text);
        if inner.starts_with("src/") || inner == "build.rs" {
            shipped.extend(names.iter().cloned());
        }
        all.extend(names);
    }
    let is_unused = |(ident, is_dev): &(&String, bool)| !(if *is_dev { &all } else { &shipped }).contains(*ident);
    let dependencies = package.dependencies.iter().map(|dependency| (&dependency.ident, dependency.is_dev)).filter(is_unused);
    dependencies
        .filter(|(ident, _)| !exceptions.allow(ExceptionRule::UnusedDependency, &format!("{} {ident}", package.folder)))
        .map(|(ident, is_dev)| {
            let place = if is_dev { "its sources and tests" } else { "its src" };
            format!("dependency: nothing in {place} names {ident}, a dependency in {}/Cargo.toml", package.folder)
        })
        .collect()
}

/// Complaints about libraries in `[workspace.dependencies]` that the table of DEPENDENCIES.md lacks, and about rows without such a library.
pub(super) fn undocumented(manifest: &str, document: &str) -> anyhow::Result<Vec<String>> {
    let manifest: toml_edit::DocumentMut = manifest.parse()?;
    let declared = manifest["workspace"]["dependencies"].as_table_like().into_iter().flat_map(|table| table.iter());
    let declared: BTreeSet<&str> = declared.filter(|(_, entry)| entry.get("path").is_none()).map(|(name, _)| name).collect();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).filter(|first| *first != "crate");
    let documented: BTreeSet<&str> = rows.flat_map(|first| first.split(", ")).collect();
    let missing = declared.difference(&documented).map(|name| format!("dependency: DEPENDENCIES.md does not say why {name} was chosen"));
    let stale = documented.difference(&declared).map(|name| format!("dependency: DEPENDENCIES.md lists {name}, which Cargo.toml does not"));
    Ok(missing.chain(stale).collect())
}

/// Complaints about `[workspace.dependencies]` that no package uses.
pub(super) fn unclaimed(manifest: &str, packages: &[Package]) -> anyhow::Result<Vec<String>> {
    let manifest: toml_edit::DocumentMut = manifest.parse()?;
    let declared = manifest["workspace"]["dependencies"].as_table_like();
    let taken: BTreeSet<&str> =
        packages.iter().flat_map(|package| &package.dependencies).map(|dependency| dependency.ident.as_str()).collect();
    let names = declared.into_iter().flat_map(|table| table.iter()).map(|(name, _)| name);
    let unclaimed = names.filter(|name| !taken.contains(name.replace('-', "_").as_str()));
    Ok(unclaimed.map(|name| format!("dependency: no package uses {name} of [workspace.dependencies]")).collect())
}

/// The first names of paths and imports, which may be crates. Comments do not count.
fn crates_named(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        collect(tokens, &mut names);
    }
    names
}

fn collect(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon = |index: usize| matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let is_word = |index: usize, word: &str| matches!(tokens.get(index), Some(TokenTree::Ident(ident)) if ident == word);
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), names),
            TokenTree::Ident(ident) => {
                let begins_path = is_colon(index + 1) && is_colon(index + 2);
                // `::name` names a crate as well; `a::name::b` does not.
                let inner = index > 2 && is_colon(index - 1) && is_colon(index - 2) && matches!(tokens[index - 3], TokenTree::Ident(_));
                let is_imported = index > 0 && (is_word(index - 1, "use") || is_word(index - 1, "crate"));
                if !inner && (begins_path || is_imported) {
                    names.insert(ident.to_string());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(dependencies: &[(&str, bool)]) -> Package {
        let dependencies = dependencies.iter().map(|(ident, is_dev)| Dependency {
            package: (*ident).to_owned(),
            ident: (*ident).to_owned(),
            is_dev: *is_dev,
        });
        Package { name: "engine".to_owned(), folder: "crates/engine".to_owned(), dependencies: dependencies.collect(), roots: Vec::new() }
    }

    #[test]
    fn a_dependency_must_be_named_where_it_is_used() {
        let package = package(&[("serde", false), ("http", false), ("tokio", false), ("bytes", false), ("proptest", true)]);
        let sources = [
            (
                "crates/engine/src/lib.rs",
                "use serde::Serialize; mod a { fn f() { ::tokio::spawn(); crate::http::x(); } } // bytes::Bytes\n",
            ),
            ("crates/engine/tests/it.rs", "proptest::proptest! {} use bytes::Bytes;"),
            ("crates/other/src/lib.rs", "use http::Uri;"),
        ];
        let exceptions = Exceptions::parse("dependency crates/engine bytes  for its feature\n").unwrap();
        let found = unused(&package, sources.into_iter(), &exceptions);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("dependency: nothing in its src names http, a dependency in crates/engine/Cargo.toml"), "{found:?}");
        assert!(exceptions.stale().is_empty());
    }

    #[test]
    fn attributes_and_macros_name_crates_too() {
        let names = crates_named(
            "#[tokio::test] async fn f() { println!(\"{}\", libc::getpid()) } #[derive(thiserror::Error)] struct E; extern crate std as s;",
        );
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["libc", "std", "thiserror", "tokio"]);
    }

    #[test]
    fn what_the_workspace_declares_is_taken_by_a_package() {
        let manifest = "[workspace.dependencies]\nserde = \"1\"\nmd-5 = { version = \"1\" }\nrust-embed = \"8\"\n";
        let found = unclaimed(manifest, &[package(&[("serde", false), ("md_5", true)])]).unwrap();
        assert_eq!(found, ["dependency: no package uses rust-embed of [workspace.dependencies]"]);
    }

    #[test]
    fn each_library_has_a_reason() {
        let manifest = "[workspace.dependencies]\nserde = \"1\"\nzstd = \"1\"\nours = { path = \"crates/ours\" }\n";
        let found = undocumented(manifest, "| crate | for |\n|---|---|\n| serde, gone | formats |\n").unwrap();
        assert_eq!(
            found,
            [
                "dependency: DEPENDENCIES.md does not say why zstd was chosen",
                "dependency: DEPENDENCIES.md lists gone, which Cargo.toml does not"
            ]
        );
    }
}
