//! The contents of a release: the binary with its manual pages and completions, archives, checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use checkout::Workspace;
use checkout::process;

use super::target::ReleaseTarget;

/// Shells, and the files of their completions.
pub(super) const SHELLS: [(&str, &str); 3] = [("bash", "loadstone.bash"), ("zsh", "_loadstone"), ("fish", "loadstone.fish")];
/// The file with the licences of all libraries in the binary.
pub(super) const NOTICES: &str = "THIRD-PARTY-LICENSES";

/// A release that is being built.
pub(super) struct Release {
    pub(super) version: String,
    /// When it was created, in seconds since 1970, see [`creation_time`].
    pub(super) time: String,
    /// The address of its sources, if it has one.
    pub(super) repository: Option<String>,
    pub(super) folder: PathBuf,
}

/// The time that the caller names in `SOURCE_DATE_EPOCH` (reproducible-builds.org), the commit's otherwise: packages of the same commit are the same bytes.
///
/// # Errors
/// The caller's time is not a number of seconds since 1970.
pub(super) fn creation_time(source_date_epoch: Option<&str>, commit: &str) -> Result<String> {
    let Some(named) = source_date_epoch else { return Ok(commit.to_owned()) };
    let seconds: u32 =
        named.parse().with_context(|| format!("SOURCE_DATE_EPOCH is `{named}`; set it to seconds since 1970, or unset it"))?;
    Ok(seconds.to_string())
}

impl Release {
    /// The name of a target's archive, without its ending.
    pub(super) fn archive_name(&self, target: ReleaseTarget) -> String {
        format!("loadstone-{}-{}", self.version, target.name())
    }

    /// The binary with its man pages, completions and licences, as a folder that the packages contain.
    pub(super) fn tree(&self, target: ReleaseTarget) -> PathBuf {
        self.folder.join(self.archive_name(target))
    }

    /// `documents`: a binary of the same version that runs here, and its target. It writes the manual pages and the completions.
    pub(super) fn archive(
        &self,
        workspace: &Workspace,
        target: ReleaseTarget,
        built: &Path,
        documents: (ReleaseTarget, &Path),
    ) -> Result<()> {
        let tree = self.tree(target);
        for folder in ["man", "completions"] {
            fs::create_dir_all(tree.join(folder))?;
        }
        let binary = tree.join("loadstone");
        fs::copy(built, &binary).context("cannot copy the binary")?;
        for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
            fs::copy(workspace.root.join(file), tree.join(file)).with_context(|| format!("cannot copy {file}"))?;
        }
        fs::copy(self.folder.join(NOTICES), tree.join(NOTICES)).with_context(|| format!("{NOTICES} was not written"))?;
        let start = || if target.is_runnable() { target.start(&binary) } else { documents.0.start(documents.1) };
        process::run(start()?.arg("man").arg(tree.join("man"))).context("the binary did not write its manual pages")?;
        for (shell, name) in SHELLS {
            fs::write(tree.join("completions").join(name), process::output(start()?.args(["completions", shell]))?)?;
        }
        let name = self.archive_name(target);
        self.tar(&self.folder, &[&name], &self.folder.join(format!("{name}.tar.gz")))
    }

    /// Packs entries of a folder, see [`checkout::archive::tar`].
    pub(super) fn tar(&self, from: &Path, entries: &[&str], to: &Path) -> Result<()> {
        checkout::archive::tar(&self.time, from, entries, to)
    }

    /// SHA-256 of one file of the release, in hexadecimal digits.
    pub(super) fn checksum(&self, name: &str) -> Result<String> {
        let line = process::output(Command::new("sha256sum").current_dir(&self.folder).arg(name))?;
        Ok(line.split(' ').next().unwrap_or_default().to_owned())
    }

    /// SHA256SUMS of every file, as `sha256sum --check` reads it.
    pub(super) fn checksums(&self) -> Result<()> {
        for target in ReleaseTarget::ALL {
            fs::remove_dir_all(self.tree(target)).ok();
        }
        fs::remove_file(self.folder.join(NOTICES)).ok();
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        ensure!(!names.is_empty(), "no package was built");
        let sums = process::output(Command::new("sha256sum").current_dir(&self.folder).args(&names))?;
        fs::write(self.folder.join("SHA256SUMS"), &sums)?;
        print!("{sums}");
        println!("in {}", self.folder.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_may_name_the_time() {
        assert_eq!(creation_time(None, "1700000000").unwrap(), "1700000000");
        assert_eq!(creation_time(Some("1000000000"), "1700000000").unwrap(), "1000000000");
        for refused in ["", "yesterday", "-1", "1.5"] {
            let error = creation_time(Some(refused), "1700000000").unwrap_err().to_string();
            assert!(error.contains("set it to seconds since 1970"), "{error}");
        }
    }
}
