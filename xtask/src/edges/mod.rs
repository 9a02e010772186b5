//! Checks the dependencies between crates, as `cargo metadata` lists them, against the table of allowed edges in ARCHITECTURE.md.
//!
//! The table is the architecture: data flows asked → measured → concluded, and no edge runs against it. A new edge is a decision, taken there.
//! A note such as "engine (its traits only)" is for readers: cargo knows which crates are used, and not which of their items.

mod table;

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use checkout::Workspace;

use crate::metadata::{self, Package};
use table::EdgeTable;

const DOCUMENT: &str = "ARCHITECTURE.md";
const CRATES: &str = "crates/";
/// The library of the developers' tools, by its folder.
const TOOLS_LIBRARY: &str = "xtask/checkout";
/// The developers' tool that may use crates, by its folder and its row of the table.
const TRIALS: &str = "trials";

pub(crate) fn edges(workspace: &Workspace) -> Result<()> {
    let document = fs::read_to_string(workspace.root.join(DOCUMENT)).with_context(|| format!("reading {DOCUMENT}"))?;
    let packages = metadata::packages(workspace)?;
    let crates: BTreeSet<String> = packages.iter().filter_map(crate_name).map(str::to_owned).collect();
    let rows = crates.iter().cloned().chain([TRIALS.to_owned()]).collect();
    let table = EdgeTable::parse(&document, &rows).with_context(|| format!("the table of allowed edges in {DOCUMENT}"))?;
    let mut complaints = violations(&packages, &table);
    complaints.extend(unmapped(&document, &crates));
    if !complaints.is_empty() {
        bail!("{} violations of {DOCUMENT}:\n  {}", complaints.len(), complaints.join("\n  "));
    }
    println!("{} edges between {} crates, all allowed", inner_edges(&packages).count(), crates.len());
    Ok(())
}

/// `run-directory` for `crates/run-directory`; `None` for a developers' tool such as xtask.
fn crate_name(package: &Package) -> Option<&str> {
    package.folder.strip_prefix(CRATES)
}

/// Dependencies between packages of the workspace: from, to, whether only in tests.
fn inner_edges(packages: &[Package]) -> impl Iterator<Item = (&Package, &str, bool)> {
    packages.iter().flat_map(move |from| {
        from.dependencies.iter().filter_map(move |dependency| {
            let to = packages.iter().find(|package| package.name == dependency.package)?;
            Some((from, crate_name(to).unwrap_or(&to.folder), dependency.is_dev))
        })
    })
}

fn violations(packages: &[Package], table: &EdgeTable) -> Vec<String> {
    // Developers' tools may use their library, which no crate may use. Only one of them has a row.
    let is_allowed = |from: &Package, to: &str, is_dev| match crate_name(from) {
        Some(from) => table.allows(from, to, is_dev),
        None => to == TOOLS_LIBRARY || (from.folder == TRIALS && table.allows(TRIALS, to, is_dev)),
    };
    let wrong = inner_edges(packages).filter(|(from, to, is_dev)| !is_allowed(from, to, *is_dev));
    wrong
        .map(|(from, to, is_dev)| {
            format!("{} → {to}{} is not allowed", crate_name(from).unwrap_or(&from.name), if is_dev { " (in tests)" } else { "" })
        })
        .collect()
}

/// Crates that the document does not mention, and mentioned crates that do not exist.
fn unmapped(document: &str, crates: &BTreeSet<String>) -> Vec<String> {
    let mentioned: BTreeSet<&str> = document
        .match_indices(CRATES)
        .map(|(at, _)| &document[at + CRATES.len()..])
        .map(|rest| &rest[..rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '-')).unwrap_or(rest.len())])
        // `crates/NAME` is a placeholder.
        .filter(|name| !name.is_empty() && !name.chars().any(char::is_uppercase))
        .collect();
    let unknown =
        mentioned.iter().filter(|name| !crates.contains(**name)).map(|name| format!("it mentions {CRATES}{name}, which does not exist"));
    let unnamed =
        crates.iter().filter(|name| !mentioned.contains(name.as_str())).map(|name| format!("it does not describe {CRATES}{name}"));
    unknown.chain(unnamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    const TABLE: &str = "## Allowed edges\n| crate | may use |\n|---|---|\n| plan, stub | none of ours |\n| engine, trials | plan |\n\
                         | tests of every crate | stub |\n";

    fn package(name: &str, folder: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependencies = dependencies.iter().map(|(package, is_dev)| Dependency {
            package: (*package).to_owned(),
            ident: (*package).to_owned(),
            is_dev: *is_dev,
        });
        Package { name: name.to_owned(), folder: folder.to_owned(), dependencies: dependencies.collect(), roots: Vec::new() }
    }

    fn found(engine_uses: &[(&str, bool)], tool_uses: &[(&str, bool)]) -> Vec<String> {
        found_of_trials(engine_uses, tool_uses, &[])
    }

    fn found_of_trials(engine_uses: &[(&str, bool)], tool_uses: &[(&str, bool)], trials_use: &[(&str, bool)]) -> Vec<String> {
        let packages = [
            package("loadstone-plan", "crates/plan", &[]),
            package("loadstone-stub", "crates/stub", &[]),
            package("loadstone-engine", "crates/engine", engine_uses),
            package("xtask", "xtask", tool_uses),
            package("trials", TRIALS, trials_use),
            package("checkout", TOOLS_LIBRARY, &[]),
        ];
        let rows = packages.iter().filter_map(crate_name).chain([TRIALS]).map(str::to_owned).collect();
        violations(&packages, &EdgeTable::parse(TABLE, &rows).unwrap())
    }

    #[test]
    fn the_table_decides() {
        assert!(found(&[("loadstone-plan", false), ("loadstone-stub", true), ("serde", false)], &[("anyhow", false)]).is_empty());
        assert_eq!(found(&[("loadstone-stub", false)], &[]), ["engine → stub is not allowed"]);
    }

    #[test]
    fn tools_use_none_of_ours_but_their_library() {
        assert!(found(&[], &[("checkout", false)]).is_empty());
        assert_eq!(found(&[("checkout", false)], &[]), ["engine → xtask/checkout is not allowed"]);
        assert_eq!(found(&[], &[("loadstone-plan", true)]), ["xtask → plan (in tests) is not allowed"]);
    }

    #[test]
    fn trials_use_what_their_row_names() {
        assert!(found_of_trials(&[], &[], &[("loadstone-plan", false), ("checkout", false)]).is_empty());
        assert_eq!(found_of_trials(&[], &[], &[("loadstone-engine", false)]), ["trials → engine is not allowed"]);
    }

    #[test]
    fn the_map_has_every_crate_and_no_other() {
        let crates = ["plan".to_owned(), "run-directory".to_owned()].into();
        assert!(unmapped("crates/plan asked\ncrates/run-directory: `crates/plan/src/x.rs`, crates/*, crates/NAME", &crates).is_empty());
        assert_eq!(
            unmapped("crates/plan and crates/run", &crates),
            ["it mentions crates/run, which does not exist", "it does not describe crates/run-directory"]
        );
    }
}
