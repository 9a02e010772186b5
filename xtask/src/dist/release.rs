//! The contents of a release: the binary with its manual pages and completions, archives, the types for npm, checksums.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use checkout::Workspace;
use checkout::process;

pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Shells, and the files of their completions.
pub(super) const SHELLS: [(&str, &str); 3] = [("bash", "loadstone.bash"), ("zsh", "_loadstone"), ("fish", "loadstone.fish")];

/// A release that is being built.
pub(super) struct Release {
    pub(super) version: String,
    /// The commit's time in seconds since 1970: packages of the same commit are the same bytes.
    pub(super) time: String,
    pub(super) folder: PathBuf,
    pub(super) binary: PathBuf,
}

impl Release {
    fn name(&self) -> String {
        format!("loadstone-{}-x86_64-linux", self.version)
    }

    /// The binary with its man pages, completions and licence, as a folder that the packages contain.
    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join(self.name())
    }

    pub(super) fn archive(&self, workspace: &Workspace) -> Result<()> {
        let tree = self.tree();
        for folder in ["man", "completions"] {
            fs::create_dir_all(tree.join(folder))?;
        }
        fs::copy(&self.binary, tree.join("loadstone")).context("cannot copy the binary")?;
        for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
            fs::copy(workspace.root.join(file), tree.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        let binary = tree.join("loadstone");
        process::run(workspace.command(&binary.to_string_lossy()).arg("man").arg(tree.join("man")))?;
        for (shell, name) in SHELLS {
            let script = process::output(workspace.command(&binary.to_string_lossy()).args(["completions", shell]))?;
            fs::write(tree.join("completions").join(name), script)?;
        }
        self.tar(&self.folder, &[&self.name()], &self.folder.join(format!("{}.tar.gz", self.name())))
    }

    /// Packs entries of a folder, see [`checkout::archive::tar`].
    pub(super) fn tar(&self, from: &Path, entries: &[&str], to: &Path) -> Result<()> {
        checkout::archive::tar(&self.time, from, entries, to)
    }

    /// The script API's types as a package for npm.
    pub(super) fn types(&self, workspace: &Workspace) -> Result<()> {
        let folder = self.folder.join("npm/package");
        fs::create_dir_all(&folder)?;
        fs::copy(workspace.root.join("types/loadstone.d.ts"), folder.join("index.d.ts"))?;
        fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
        let manifest = serde_json::json!({
            "name": "loadstone", "version": self.version, "description": "Types of Loadstone's load tests", "license": "Apache-2.0",
            "types": "index.d.ts", "files": ["index.d.ts"],
        });
        fs::write(folder.join("package.json"), format!("{manifest:#}\n"))?;
        self.tar(&self.folder.join("npm"), &["package"], &self.folder.join(format!("loadstone-types-{}.tar.gz", self.version)))?;
        Ok(fs::remove_dir_all(self.folder.join("npm"))?)
    }

    /// SHA256SUMS of every file, as `sha256sum --check` reads it.
    pub(super) fn checksums(&self) -> Result<()> {
        fs::remove_dir_all(self.tree())?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        ensure!(!names.is_empty(), "no package was built");
        let sums = process::output(std::process::Command::new("sha256sum").current_dir(&self.folder).args(&names))?;
        fs::write(self.folder.join("SHA256SUMS"), &sums)?;
        print!("{sums}");
        println!("in {}", self.folder.display());
        Ok(())
    }
}
