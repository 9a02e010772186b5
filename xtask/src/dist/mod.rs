//! `cargo xtask dist`: builds the files of a release in `target/packages`.
//!
//! Read [`DistOptions::perform`], then `release`. The binary for x86-64 is linked statically against glibc: its C parts (QuickJS, aws-lc, mimalloc,
//! SQLite) build with the installed compiler. For other processors zig compiles them, against musl. Deliberately absent: uploading and signing, which
//! `.github/workflows/release.yml` does, and systems other than Linux.

mod build;
mod image;
mod linkage;
mod npm;
pub(crate) mod packages;
mod processor;
mod release;
mod sbom;
mod smoke;
mod sources;
#[cfg(test)]
mod tests;
pub(crate) mod zig;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use checkout::Workspace;
use checkout::process;
use processor::Processor;
use release::Release;

#[derive(Args)]
pub(crate) struct DistOptions {
    /// Build packages for this processor; may be repeated. Default: that of this machine.
    #[arg(long, value_name = "PROCESSOR")]
    processor: Vec<Processor>,
    /// Package these binaries instead of building them; they must be linked statically. May be repeated, once per processor.
    #[arg(long, value_name = "FILE", conflicts_with = "processor")]
    binary: Vec<PathBuf>,
    /// The address of the folder that will contain the release's files, for the installation script and the formula, which are not written without it.
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
    /// Then run the demo with each archive's binary, emulated if it is for another processor.
    #[arg(long)]
    smoke: bool,
}

impl DistOptions {
    /// Builds everything anew.
    pub(crate) fn perform(&self, workspace: &Workspace) -> Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let git =
            |arguments: &[&str]| -> Result<String> { Ok(process::output(workspace.command("git").args(arguments))?.trim().to_owned()) };
        let (commit, time) = (git(&["rev-parse", "--short=12", "HEAD"])?, git(&["log", "-1", "--format=%ct"])?);
        let dirty = if git(&["status", "--porcelain"])?.is_empty() { "" } else { ", changed" };
        let mut binaries = self.binary.iter().map(|binary| given(binary)).collect::<Result<Vec<_>>>()?;
        if binaries.is_empty() {
            let own = Processor::own().map(|own| vec![own]);
            let chosen = if self.processor.is_empty() {
                own.context("name a processor: there are no packages for that of this machine")?
            } else {
                self.processor.clone()
            };
            for processor in chosen {
                binaries.push((processor, build::build(workspace, processor, &format!("{version} ({commit}{dirty})"))?));
            }
        }
        let folder = workspace.target.join("packages");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let release = Release { version: version.to_owned(), time, folder };
        let nfpm = packages::nfpm(workspace)?;
        write(workspace, &release, &binaries, &nfpm, self.releases.as_deref())?;
        if self.smoke {
            smoke::run(workspace, &release, &binaries.iter().map(|(processor, _)| *processor).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// All files of a release.
fn write(workspace: &Workspace, release: &Release, binaries: &[(Processor, PathBuf)], nfpm: &Path, releases: Option<&str>) -> Result<()> {
    for (processor, binary) in binaries {
        release.archive(workspace, *processor, binary)?;
        packages::write(nfpm, release, *processor)?;
        image::write(release, *processor)?;
        npm::binary(release, *processor)?;
    }
    npm::main(workspace, release)?;
    let processors: Vec<Processor> = binaries.iter().map(|(processor, _)| *processor).collect();
    sbom::write(workspace, release, &processors)?;
    if let Some(releases) = releases {
        sources::write(release, &processors, releases.trim_end_matches('/'))?;
    }
    release.checksums()
}

/// The caller's binary, checked to run where packages are installed.
fn given(binary: &Path) -> Result<(Processor, PathBuf)> {
    let found = fs::canonicalize(binary).with_context(|| format!("cannot find {}", binary.display()))?;
    let file = fs::read(&found).with_context(|| format!("cannot read {}", binary.display()))?;
    match (linkage::problem(&file), linkage::processor(&file)) {
        (None, Some(processor)) => Ok((processor, found)),
        (problem, _) => bail!("{} cannot be packaged: {}", binary.display(), problem.unwrap_or_default()),
    }
}
