//! `cargo xtask dist`: builds a release in `target/dist`.
//!
//! Read [`DistOptions::perform`], then `release`. The binary is linked statically against glibc: its C parts (QuickJS, aws-lc, mimalloc,
//! SQLite) build with the installed compiler, while musl would need its own. Packages are built with `tar` and `ar`, which every machine with a C
//! compiler has. Deliberately absent: uploading, signing, and other processors than this machine's.

mod debian;
pub(crate) mod image;
mod linkage;
mod release;
mod sbom;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use checkout::Workspace;
use checkout::process;
use release::{Release, TARGET};

#[derive(Args)]
pub(crate) struct DistOptions {
    /// Package this binary instead of building one; it must be linked statically.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

impl DistOptions {
    /// Builds everything anew.
    pub(crate) fn perform(&self, workspace: &Workspace) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let git =
            |arguments: &[&str]| -> Result<String> { Ok(process::output(workspace.command("git").args(arguments))?.trim().to_owned()) };
        let (commit, time) = (git(&["rev-parse", "--short=12", "HEAD"])?, git(&["log", "-1", "--format=%ct"])?);
        let dirty = if git(&["status", "--porcelain"])?.is_empty() { "" } else { ", changed" };
        let given = self.binary.as_deref().map(given).transpose()?;
        let folder = workspace.target.join("dist");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let binary = match given {
            Some(binary) => binary,
            None => build(workspace, &format!("{version} ({commit}{dirty})"))?,
        };
        let release = Release { version: version.to_owned(), time, folder, binary };
        release.archive(workspace)?;
        debian::write(&release)?;
        image::write(&release)?;
        sbom::write(workspace, &release)?;
        release.types(workspace)?;
        release.checksums()
    }
}

/// The caller's binary, checked to run where packages are installed.
fn given(binary: &Path) -> Result<PathBuf> {
    let found = fs::canonicalize(binary).with_context(|| format!("cannot find {}", binary.display()))?;
    let file = fs::read(&found).with_context(|| format!("cannot read {}", binary.display()))?;
    match linkage::problem(&file) {
        Some(problem) => bail!("{} cannot be packaged: {problem}", binary.display()),
        None => Ok(found),
    }
}

/// A binary that needs no library of the machine it runs on.
fn build(workspace: &Workspace, version: &str) -> Result<PathBuf> {
    let mut cargo = workspace.command("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "loadstone", "--target", TARGET]);
    // For the target alone: build scripts and macros are linked as usual.
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static").env("LOADSTONE_BUILD", version);
    process::run(&mut cargo)?;
    Ok(workspace.target.join(TARGET).join("release/loadstone"))
}
