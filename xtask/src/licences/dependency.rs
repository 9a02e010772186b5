//! The packages of others that the workspace is built from.
//!
//! `cargo metadata` describes them, but its graph has optional packages that no feature asks for (rustls-webpki's `ring`, for one). What is
//! really compiled, tests included, is in `cargo tree`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;
use crate::workspace::Workspace;

#[derive(Debug, PartialEq)]
pub(super) struct ExternalPackage {
    pub(super) name: String,
    pub(super) version: String,
    /// The expression in its manifest.
    pub(super) licence: Option<String>,
    pub(super) source: String,
    /// The packages that depend on it.
    pub(super) brought_by: Vec<String>,
}

/// Name and version.
type CompiledNames = BTreeSet<(String, String)>;

/// Every package that is compiled for one of the platforms and is not a member of the workspace.
pub(super) fn compiled(workspace: &Workspace, platforms: &[String]) -> Result<Vec<ExternalPackage>> {
    let mut metadata = workspace.command("cargo");
    metadata.args(["metadata", "--locked", "--format-version", "1"]);
    metadata.args(platforms.iter().flat_map(|platform| ["--filter-platform", platform]));
    let mut tree = workspace.command("cargo");
    tree.args(["tree", "--workspace", "--locked", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}"]);
    tree.args(platforms.iter().flat_map(|platform| ["--target", platform]));
    let described = serde_json::from_str(&process::output(&mut metadata)?).context("`cargo metadata` did not write JSON")?;
    read(&described, &names(&process::output(&mut tree)?))
}

/// Of lines such as `bytes v1.2.3` and `clap_derive v4.6.7 (proc-macro) (*)`.
fn names(tree: &str) -> CompiledNames {
    let package = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split_whitespace().next()?.to_owned()))
    };
    tree.lines().filter_map(package).collect()
}

fn read(metadata: &Value, compiled: &CompiledNames) -> Result<Vec<ExternalPackage>> {
    let members: BTreeSet<&str> = list(&metadata["workspace_members"]).filter_map(Value::as_str).collect();
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let is_compiled = |id: &str| {
        let text = |field: &str| packages.get(id).and_then(|package| package[field].as_str()).unwrap_or_default().to_owned();
        compiled.contains(&(text("name"), text("version")))
    };
    let named = |id: &str| packages.get(id).and_then(|package| package["name"].as_str()).unwrap_or(id).to_owned();
    let nodes = metadata["resolve"]["nodes"].as_array().context("`cargo metadata` resolved nothing")?;
    let mut brought_by: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| node["id"].as_str().is_some_and(is_compiled)) {
        for dependency in list(&node["dependencies"]).filter_map(Value::as_str) {
            brought_by.entry(dependency).or_default().insert(named(node["id"].as_str().unwrap_or_default()));
        }
    }
    let ids = nodes.iter().filter_map(|node| node["id"].as_str()).filter(|id| !members.contains(id) && is_compiled(id));
    ids.map(|id| {
        let package = packages.get(id).with_context(|| format!("`cargo metadata` does not describe {id}"))?;
        let text = |field: &str| package[field].as_str().map(str::to_owned);
        Ok(ExternalPackage {
            name: text("name").with_context(|| format!("{id} has no name"))?,
            version: text("version").unwrap_or_default(),
            licence: text("license"),
            source: text("source").unwrap_or_else(|| "a folder outside the workspace".to_owned()),
            brought_by: brought_by.remove(id).unwrap_or_default().into_iter().collect(),
        })
    })
    .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_of_others_are_those_that_are_compiled_and_no_members() {
        let metadata = json!({
            "workspace_members": ["ours"],
            "packages": [
                { "id": "ours", "name": "engine", "version": "0.1.0" },
                { "id": "optional", "name": "ring", "version": "0.17.0" },
                { "id": "used", "name": "bytes", "version": "1.2.3", "license": "MIT", "source": "registry+x" },
                { "id": "for another platform", "name": "windows" },
            ],
            "resolve": { "nodes": [
                { "id": "ours", "dependencies": ["used"] }, { "id": "used", "dependencies": ["optional"] }, { "id": "optional", "dependencies": ["used"] },
            ] },
        });
        let text = str::to_owned;
        let expected = ExternalPackage {
            name: text("bytes"),
            version: text("1.2.3"),
            licence: Some(text("MIT")),
            source: text("registry+x"),
            brought_by: vec![text("engine")],
        };
        let compiled = names("engine v0.1.0 (/folder)\nbytes v1.2.3 (*)\n\n[build-dependencies]\n");
        assert_eq!(read(&metadata, &compiled).unwrap(), [expected]);
    }
}
