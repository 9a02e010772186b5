//! The packages of this workspace, as cargo describes them: folders, dependencies, and the files that compilation starts from.
//!
//! Start with [`packages`]. Deliberately absent: packages of others (see `licences`, which leaves them to cargo-deny).

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;
use serde_json::Value;

/// A package of this workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// `loadstone-engine`
    pub(crate) name: String,
    /// Relative to the workspace: `crates/engine`.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) roots: Vec<CompilationRoot>,
}

#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    /// The name of the package.
    pub(crate) package: String,
    /// The name that sources use, with `_` for `-`: the package's name, or its alias in Cargo.toml.
    pub(crate) ident: String,
    pub(crate) is_dev: bool,
}

/// A file that a compilation starts from.
#[derive(Debug)]
pub(crate) struct CompilationRoot {
    /// Relative to the workspace: `crates/engine/src/lib.rs`.
    pub(crate) file: String,
    /// A library or a program, and not a test, an example or a build script.
    pub(crate) is_shipped: bool,
}

/// All packages of the workspace, as `cargo metadata --no-deps` lists them.
///
/// # Errors
///
/// If cargo fails or writes something unexpected.
pub(crate) fn packages(workspace: &Workspace) -> Result<Vec<Package>> {
    let text = process::output(workspace.command("cargo").args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).context("`cargo metadata` did not write JSON")?;
    read(&metadata)
}

fn read(metadata: &Value) -> Result<Vec<Package>> {
    let root = metadata["workspace_root"].as_str().context("`cargo metadata` names no workspace root")?;
    let relative = |path: &str| path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').to_owned();
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let package = |package: &Value| {
        let manifest = relative(text(&package["manifest_path"])?);
        Ok(Package {
            name: text(&package["name"])?.to_owned(),
            folder: manifest.trim_end_matches("/Cargo.toml").to_owned(),
            dependencies: list(&package["dependencies"]).map(dependency).collect::<Result<_>>()?,
            roots: list(&package["targets"])
                .map(|target| {
                    let kinds = ["lib", "rlib", "proc-macro", "bin"];
                    let is_shipped = list(&target["kind"]).any(|kind| kind.as_str().is_some_and(|kind| kinds.contains(&kind)));
                    Ok(CompilationRoot { file: relative(text(&target["src_path"])?), is_shipped })
                })
                .collect::<Result<_>>()?,
        })
    };
    packages.iter().map(package).collect()
}

fn dependency(dependency: &Value) -> Result<Dependency> {
    let package = text(&dependency["name"])?.to_owned();
    Ok(Dependency {
        ident: dependency["rename"].as_str().unwrap_or(&package).replace('-', "_"),
        is_dev: dependency["kind"] == "dev",
        package,
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().context("`cargo metadata` left out a field")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packages_are_read_with_the_names_that_sources_use() {
        let metadata = json!({ "workspace_root": "/w", "packages": [{
            "name": "loadstone-engine", "manifest_path": "/w/crates/engine/Cargo.toml",
            "dependencies": [
                { "name": "loadstone-run-directory", "rename": "run-directory", "kind": null, "req": "*", "path": "/w/crates/run-directory" },
                { "name": "md-5", "kind": "dev", "req": "^0.10" },
            ],
            "targets": [
                { "kind": ["lib"], "src_path": "/w/crates/engine/src/lib.rs" },
                { "kind": ["test"], "src_path": "/w/crates/engine/tests/it/main.rs" },
            ],
        }]});
        let package = read(&metadata).unwrap().remove(0);
        assert_eq!((package.name.as_str(), package.folder.as_str()), ("loadstone-engine", "crates/engine"));
        let [path, registry] = package.dependencies.try_into().unwrap();
        assert_eq!((path.ident.as_str(), path.is_dev), ("run_directory", false));
        assert_eq!((registry.ident.as_str(), registry.is_dev), ("md_5", true));
        let shipped: Vec<_> = package.roots.iter().map(|root| (root.file.as_str(), root.is_shipped)).collect();
        assert_eq!(shipped, [("crates/engine/src/lib.rs", true), ("crates/engine/tests/it/main.rs", false)]);
    }
}
