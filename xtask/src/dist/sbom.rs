//! The bill of materials: every crate in the binary, as CycloneDX 1.6.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::{Value, json};

use super::release::Release;
use super::target::ReleaseTarget;

/// One bill for all packages: crates that only one system or processor needs are listed, too.
pub(super) fn write(workspace: &Workspace, release: &Release, targets: &[ReleaseTarget]) -> Result<()> {
    let mut cargo = workspace.command("cargo");
    cargo.args(["metadata", "--locked", "--format-version", "1"]);
    for target in targets {
        cargo.args(["--filter-platform", target.triple()]);
    }
    let metadata = process::output(&mut cargo)?;
    let metadata: Value = serde_json::from_str(&metadata).context("`cargo metadata` did not write JSON")?;
    let bill = bill(&metadata, &release.version).context("`cargo metadata` wrote an unexpected structure")?;
    Ok(fs::write(release.folder.join(format!("loadstone-{}.cdx.json", release.version)), format!("{bill:#}\n"))?)
}

/// `None` for an unexpected structure.
fn bill(metadata: &Value, version: &str) -> Option<Value> {
    let packages: BTreeMap<&str, &Value> =
        metadata["packages"].as_array()?.iter().map(|package| Some((package["id"].as_str()?, package))).collect::<Option<_>>()?;
    let nodes: BTreeMap<&str, &Value> =
        metadata["resolve"]["nodes"].as_array()?.iter().map(|node| Some((node["id"].as_str()?, node))).collect::<Option<_>>()?;
    let (binary, _) = packages.iter().find(|(_, package)| package["name"] == "loadstone")?;
    // Dependencies of the binary and of its build, without those of tests.
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
    let foreign = seen.iter().filter_map(|id| packages.get(id)).filter(|package| !package["source"].is_null());
    let components: Vec<Value> = foreign.map(|package| component(package)).collect::<Option<_>>()?;
    Some(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": { "component": { "type": "application", "name": "loadstone", "version": version, "bom-ref": "loadstone" } },
        "components": components,
    }))
}

fn component(package: &Value) -> Option<Value> {
    let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
    let url = format!("pkg:cargo/{name}@{version}");
    let mut component = json!({ "type": "library", "name": name, "version": version, "purl": url, "bom-ref": url });
    if let Some(licence) = package["license"].as_str() {
        // Older crates write a slash for OR.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lists_what_is_linked_and_neither_tests_nor_our_own() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source });
        let dependency = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("loadstone", Value::Null), package("loadstone-engine", Value::Null), package("tokio", json!("registry")),
                package("proptest", json!("registry")), package("cc", json!("registry")), package("stray", json!("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "loadstone", "deps": [dependency("loadstone-engine", Value::Null), dependency("proptest", json!("dev"))] },
                { "id": "loadstone-engine", "deps": [dependency("tokio", Value::Null), dependency("cc", json!("build"))] },
                { "id": "tokio", "deps": [] }, { "id": "cc", "deps": [] },
            ] },
        });
        let bill = bill(&metadata, "1.2.3").unwrap();
        let names: Vec<&str> = bill["components"].as_array().unwrap().iter().map(|component| component["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["cc", "tokio"]);
        assert_eq!(bill["components"][1]["purl"], "pkg:cargo/tokio@1.0.0");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["metadata"]["component"]["version"], "1.2.3");
    }
}
