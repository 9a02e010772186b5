//! The bill of materials: every library in the binary, as CycloneDX 1.6.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::bundled::BundledLibrary;
use super::linked;
use super::release::Release;

/// One bill for all packages.
pub(super) fn write(metadata: &Value, bundled: &[BundledLibrary], release: &Release) -> Result<()> {
    let bill = bill(metadata, bundled, &release.version).context("`cargo metadata` wrote an unexpected structure")?;
    Ok(fs::write(release.folder.join(format!("loadstone-{}.cdx.json", release.version)), format!("{bill:#}\n"))?)
}

/// `None` for an unexpected structure.
fn bill(metadata: &Value, bundled: &[BundledLibrary], version: &str) -> Option<Value> {
    let mut components: Vec<Value> = linked::packages(metadata)?.into_iter().map(component).collect::<Option<_>>()?;
    for library in bundled {
        let mut component = json!({ "type": "library", "name": library.name, "purl": library.url, "bom-ref": library.url });
        if !library.version.is_empty() {
            component["version"] = Value::from(&*library.version);
        }
        component["licenses"] = json!([{ "expression": library.licence }]);
        // References must be unique, and two binaries can contain the same library.
        if !components.contains(&component) {
            components.push(component);
        }
    }
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
        let glibc = || BundledLibrary {
            name: "glibc".to_owned(),
            version: "2.36".to_owned(),
            licence: "LGPL-2.1-or-later".to_owned(),
            url: "pkg:generic/glibc@2.36".to_owned(),
            part: String::new(),
            texts: Vec::new(),
            licence_url: None,
        };
        let bill = bill(&metadata, &[glibc(), glibc()], "1.2.3").unwrap();
        let names: Vec<&str> = bill["components"].as_array().unwrap().iter().map(|component| component["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["cc", "tokio", "glibc"]);
        assert_eq!(bill["components"][1]["purl"], "pkg:cargo/tokio@1.0.0");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let bundled = &bill["components"][2];
        assert_eq!((&bundled["version"], &bundled["licenses"][0]["expression"]), (&json!("2.36"), &json!("LGPL-2.1-or-later")));
        assert_eq!(bill["metadata"]["component"]["version"], "1.2.3");
    }
}
