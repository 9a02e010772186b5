//! Which packages a change can affect: those whose files differ from main, and all that depend on them.
//!
//! A change is the difference between the working tree and the last commit that this branch shares with main, new files included.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use checkout::{Workspace, process};

use crate::metadata::{self, Package};

/// Files and folders outside the packages, and the packages whose tests read them. The folder of a package needs no line.
const READ_BY: &[(&str, &[&str])] = &[
    ("bench/", &["trials"]),
    ("docs/", &["loadstone", "loadstone-observe", "loadstone-report", "loadstone-script"]),
    ("examples/", &["loadstone"]),
    ("labs/", &["loadstone", "loadstone-analysis", "loadstone-observe", "loadstone-script"]),
    ("trials/hostile/", &["loadstone"]),
    ("trials/wire/", &["loadstone"]),
    ("types/", &["loadstone", "loadstone-script"]),
    ("web/", &["loadstone-report"]),
];
/// A change of these can affect every package.
const READ_BY_ALL: &[&str] = &["Cargo.lock", "Cargo.toml", "clippy.toml", "rust-toolchain.toml", ".cargo/", ".config/"];

#[derive(Debug)]
pub(super) struct AffectedPackages {
    files: Vec<String>,
    names: BTreeSet<String>,
}

impl AffectedPackages {
    pub(super) fn of_working_tree(workspace: &Workspace) -> Result<Self> {
        let git = |arguments: &[&str]| process::attempt(workspace.command("git").args(arguments));
        let base = ["main", "origin/main"].into_iter().find_map(|main| git(&["merge-base", main, "HEAD"]));
        let base =
            base.context("there is no branch main, or it shares no commit with this one: `--changed` has nothing to compare with")?;
        let mut files: Vec<String> = Vec::new();
        for arguments in [&["diff", "--name-only", base.trim()][..], &["ls-files", "--others", "--exclude-standard"][..]] {
            files.extend(process::output(workspace.command("git").args(arguments))?.lines().map(str::to_owned));
        }
        Ok(Self::new(files, &metadata::packages(workspace)?))
    }

    fn new(files: Vec<String>, packages: &[Package]) -> Self {
        let mut affected: BTreeSet<String> = packages
            .iter()
            .filter(|package| files.iter().any(|file| concerns(file, package)))
            .map(|package| package.name.clone())
            .collect();
        loop {
            let uses_affected = |package: &&Package| package.dependencies.iter().any(|dependency| affected.contains(&dependency.package));
            let more: Vec<String> =
                packages.iter().filter(uses_affected).map(|package| package.name.clone()).filter(|name| !affected.contains(name)).collect();
            if more.is_empty() {
                return Self { files, names: affected };
            }
            affected.extend(more);
        }
    }

    pub(super) fn contain(&self, package: &str) -> bool {
        self.names.contains(package)
    }

    /// Whether a file below one of these folders has changed.
    pub(super) fn touch(&self, folders: &[&str]) -> bool {
        self.files.iter().any(|file| folders.iter().any(|folder| file.starts_with(folder)))
    }

    /// A filter for nextest: `package(=loadstone-plan) + package(=xtask)`.
    pub(super) fn test_filter(&self) -> String {
        if self.names.is_empty() {
            return "none()".to_owned();
        }
        self.names.iter().map(|package| format!("package(={package})")).collect::<Vec<_>>().join(" + ")
    }

    /// `2 files differ from main; they affect loadstone, loadstone-plan`
    pub(super) fn describe(&self) -> String {
        let packages: Vec<&str> = self.names.iter().map(String::as_str).collect();
        format!(
            "{} files differ from main; they affect {}",
            self.files.len(),
            if packages.is_empty() { "no package".to_owned() } else { packages.join(", ") }
        )
    }
}

fn concerns(file: &str, package: &Package) -> bool {
    let is_inside = file.strip_prefix(&package.folder).is_some_and(|rest| rest.starts_with('/'));
    is_inside
        || READ_BY_ALL.iter().any(|all| file.starts_with(all))
        || READ_BY.iter().any(|(folder, readers)| file.starts_with(folder) && readers.contains(&package.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn affected(files: &[&str]) -> Vec<String> {
        let package = |name: &str, folder: &str, uses: &[&str]| Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            dependencies: uses
                .iter()
                .map(|name| Dependency { package: (*name).to_owned(), ident: name.replace('-', "_"), is_dev: false })
                .collect(),
            roots: Vec::new(),
        };
        let packages = [
            package("loadstone", "crates/cli", &["loadstone-report"]),
            package("loadstone-plan", "crates/plan", &[]),
            package("loadstone-report", "crates/report", &["loadstone-plan"]),
            package("loadstone-units", "crates/units", &[]),
        ];
        AffectedPackages::new(files.iter().map(|file| (*file).to_owned()).collect(), &packages).names.into_iter().collect()
    }

    #[test]
    fn a_change_affects_all_that_depend_on_it() {
        assert_eq!(affected(&["crates/plan/src/lib.rs"]), ["loadstone", "loadstone-plan", "loadstone-report"]);
        assert_eq!(affected(&["crates/cli/src/main.rs"]), ["loadstone"]);
        assert_eq!(affected(&["README.md"]), Vec::<String>::new());
    }

    #[test]
    fn files_outside_the_packages_affect_their_readers() {
        assert_eq!(affected(&["web/src/main.ts"]), ["loadstone", "loadstone-report"]);
        assert_eq!(affected(&["Cargo.lock"]).len(), 4);
    }

    #[test]
    fn tests_are_chosen_by_package() {
        let affected = AffectedPackages { files: Vec::new(), names: ["loadstone-plan".to_owned(), "xtask".to_owned()].into() };
        assert_eq!(affected.test_filter(), "package(=loadstone-plan) + package(=xtask)");
    }
}
