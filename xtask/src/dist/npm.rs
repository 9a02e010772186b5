//! Packages for npm: one per system and processor with the binary, and `loadstone`, which depends on them, starts the one that fits, and contains the types.
//!
//! npm installs an optional dependency only where its `os` and `cpu` fit, so nothing is downloaded while installing.

use std::fs;
use std::path::Path;

use anyhow::Result;
use checkout::Workspace;
use serde_json::{Map, Value, json};

use super::release::{NOTICES, Release};
use super::target::ReleaseTarget;

const STARTER: &str = include_str!("loadstone.js");

/// The package of one target's binary.
pub(super) fn binary(release: &Release, target: ReleaseTarget) -> Result<()> {
    let name = package_name(target);
    let description = format!("The binary of Loadstone for {}", target.system.title());
    let mut manifest = json!({
        "name": name, "version": release.version, "description": description, "license": "Apache-2.0",
        "os": [target.system.node_name()], "cpu": [target.processor.node_name()], "files": ["loadstone", NOTICES],
    });
    let tree = release.tree(target);
    let files = ["loadstone", "LICENSE", NOTICES].map(|name| (tree.join(name), name));
    pack(release, &name, &mut manifest, &files.each_ref().map(|(from, to)| (from.as_path(), *to)))
}

/// The package that users install.
pub(super) fn main(workspace: &Workspace, release: &Release) -> Result<()> {
    let starter = release.folder.join("loadstone.js");
    fs::write(&starter, STARTER)?;
    let binaries: Map<String, Value> =
        ReleaseTarget::ALL.into_iter().map(|target| (package_name(target), Value::from(&*release.version))).collect();
    let mut manifest = json!({
        "name": "loadstone", "version": release.version, "description": "Load tests that tell you why", "license": "Apache-2.0",
        "bin": { "loadstone": "loadstone.js" }, "types": "index.d.ts", "files": ["loadstone.js", "index.d.ts"],
        "engines": { "node": ">=18" }, "optionalDependencies": binaries,
    });
    let root = &workspace.root;
    let files = [(&*starter, "loadstone.js"), (&root.join("types/loadstone.d.ts"), "index.d.ts"), (&root.join("LICENSE"), "LICENSE")];
    pack(release, "loadstone", &mut manifest, &files)?;
    Ok(fs::remove_file(starter)?)
}

fn package_name(target: ReleaseTarget) -> String {
    format!("loadstone-{}-{}", target.system.node_name(), target.processor.node_name())
}

/// Writes `NAME-VERSION.tgz`, whose files are in the folder `package`, as npm expects.
fn pack(release: &Release, name: &str, manifest: &mut Value, files: &[(&Path, &str)]) -> Result<()> {
    if let Some(repository) = &release.repository {
        // The registry compares it with the repository whose workflow publishes with `--provenance`.
        manifest["repository"] = json!({ "type": "git", "url": format!("git+{repository}.git") });
    }
    let work = release.folder.join("npm");
    let folder = work.join("package");
    fs::create_dir_all(&folder)?;
    for (from, to) in files {
        fs::copy(from, folder.join(to))?;
    }
    fs::write(folder.join("package.json"), format!("{manifest:#}\n"))?;
    let archive = work.join("package.tar.gz");
    release.tar(&work, &["package"], &archive)?;
    fs::rename(archive, release.folder.join(format!("{name}-{}.tgz", release.version)))?;
    Ok(fs::remove_dir_all(work)?)
}
