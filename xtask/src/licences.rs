//! `cargo xtask licences`: cargo-deny checks licences, banned packages and sources of every dependency against deny.toml.
//!
//! Security advisories need a database from the network, so the check cannot depend on them: [`AUDITED`] records the last audit.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;

use crate::cargo_tools;

const POLICY: &str = "deny.toml";
/// The line of deny.toml that records when advisories were last checked.
const AUDITED: &str = "# Advisories last checked: ";

pub(crate) fn licences(workspace: &Workspace) -> Result<()> {
    let policy = fs::read_to_string(workspace.root.join(POLICY)).with_context(|| format!("reading {POLICY}"))?;
    let audited = last_audit(&policy).with_context(|| format!("{POLICY} has no line `{AUDITED}DATE`"))?;
    let metadata = metadata(workspace, &platforms(&policy)?)?;
    let deny = cargo_tools::path(workspace, "cargo-deny")?;
    let mut check = workspace.command(&deny.to_string_lossy());
    check.args(["--offline", "--metadata-path"]).arg(&metadata).args(["check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    let mut output = Vec::new();
    let passed = process::stream(&mut check, |line| output.push(line.to_owned()))?;
    if !passed {
        bail!("cargo-deny rejects dependencies:\n{}", output.join("\n"));
    }
    // On success, earlier lines only report that packages of other platforms were not downloaded.
    println!("{}", output.last().map_or("", String::as_str));
    println!("advisories were not checked (last checked: {audited})");
    Ok(())
}

/// Writes what cargo knows about the packages of these platforms to a file. cargo-deny alone would ask for those of all platforms.
fn metadata(workspace: &Workspace, platforms: &[String]) -> Result<PathBuf> {
    let mut metadata = workspace.command("cargo");
    metadata.args(["metadata", "--locked", "--format-version", "1"]);
    metadata.args(platforms.iter().flat_map(|platform| ["--filter-platform", platform]));
    let file = workspace.target.join("cargo-metadata.json");
    fs::create_dir_all(&workspace.target).with_context(|| format!("creating {}", workspace.target.display()))?;
    fs::write(&file, process::output(&mut metadata)?).with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

fn platforms(policy: &str) -> Result<Vec<String>> {
    let policy: toml_edit::DocumentMut = policy.parse().with_context(|| format!("reading {POLICY}"))?;
    let platforms = policy["graph"]["targets"].as_array().with_context(|| format!("{POLICY} lists no [graph] targets"))?;
    Ok(platforms.iter().filter_map(|platform| platform.as_str().map(str::to_owned)).collect())
}

fn last_audit(policy: &str) -> Option<&str> {
    policy.lines().find_map(|line| line.strip_prefix(AUDITED)).map(str::trim).filter(|date| !date.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_policy_names_platforms_and_the_last_audit() {
        let policy = include_str!("../../deny.toml");
        assert!(platforms(policy).unwrap().len() > 1);
        assert!(last_audit(policy).is_some());
        assert_eq!(last_audit("# Advisories last checked: \n"), None);
    }
}
