//! The crates in the binary of a release: those of other people, without those of tests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::Value;

use super::target::ReleaseTarget;

/// What `cargo metadata` writes about these targets. Crates that only one of them needs are listed, too.
pub(super) fn metadata(workspace: &Workspace, targets: &[ReleaseTarget]) -> Result<Value> {
    let mut cargo = workspace.command("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    for target in targets {
        cargo.args(["--filter-platform", target.triple()]);
    }
    serde_json::from_str(&process::output(&mut cargo)?).context("`cargo metadata` did not write JSON")
}

/// The packages of the binary and of its build, by their identifiers; `None` for an unexpected structure.
pub(super) fn packages(metadata: &Value) -> Option<Vec<&Value>> {
    let packages: BTreeMap<&str, &Value> =
        metadata["packages"].as_array()?.iter().map(|package| Some((package["id"].as_str()?, package))).collect::<Option<_>>()?;
    let nodes: BTreeMap<&str, &Value> =
        metadata["resolve"]["nodes"].as_array()?.iter().map(|node| Some((node["id"].as_str()?, node))).collect::<Option<_>>()?;
    let (binary, _) = packages.iter().find(|(_, package)| package["name"] == "loadstone")?;
    let (mut seen, mut open) = (BTreeSet::from([*binary]), vec![*binary]);
    while let Some(id) = open.pop() {
        for dependency in nodes.get(id)?["deps"].as_array()? {
            let is_for_tests = dependency["dep_kinds"].as_array()?.iter().all(|kind| kind["kind"] == "dev");
            let id = dependency["pkg"].as_str()?;
            if !is_for_tests && seen.insert(id) {
                open.push(id);
            }
        }
    }
    Some(seen.iter().filter_map(|id| packages.get(id).copied()).filter(|package| !package["source"].is_null()).collect())
}
