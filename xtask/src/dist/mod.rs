//! `cargo xtask dist`: builds the files of a release in `target/packages`.
//!
//! Read [`DistOptions::perform`], then `release`. The binary for x86-64 is linked statically against glibc: its C parts (QuickJS, aws-lc, mimalloc,
//! SQLite) build with the installed compiler. For arm64 and for macOS zig compiles them. Releases of macOS are built on a Mac and given as `--binary`.
//! Deliberately absent: uploading and signing, which `.github/workflows/release.yml` does.

mod build;
mod bundled;
mod image;
mod linkage;
mod linked;
mod notices;
mod npm;
pub(crate) mod packages;
mod processor;
mod release;
mod sbom;
mod smoke;
mod sources;
mod target;
#[cfg(test)]
mod tests;
pub(crate) mod zig;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use checkout::Workspace;
use checkout::process;
use processor::Processor;
use release::{Release, creation_time};
use target::{ReleaseTarget, TargetSystem};

#[derive(Args)]
pub(crate) struct DistOptions {
    /// Build packages for this processor; may be repeated. Default: that of this machine.
    #[arg(long, value_name = "PROCESSOR")]
    processor: Vec<Processor>,
    /// Build packages for this system; may be repeated. Default: Linux. Those for macOS are built by zig, and cannot be tried on Linux.
    #[arg(long, value_name = "SYSTEM")]
    system: Vec<TargetSystem>,
    /// Package this binary, too; without `--processor`, nothing is built. One for Linux must be linked statically. May be repeated.
    #[arg(long, value_name = "FILE")]
    binary: Vec<PathBuf>,
    /// The address of the folder that will contain the release's files, for the installation script and the formula, which are not written without it.
    #[arg(long, value_name = "URL")]
    releases: Option<String>,
    /// The address of the repository, for the packages for npm, which refuses a provenance without it, and for the formula.
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
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
        let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
        let epoch = env::var_os("SOURCE_DATE_EPOCH").map(|epoch| epoch.to_string_lossy().into_owned());
        let time = creation_time(epoch.as_deref(), &git(&["log", "-1", "--format=%ct"])?)?;
        let dirty = if git(&["status", "--porcelain"])?.is_empty() { "" } else { ", changed" };
        let mut binaries = self.binary.iter().map(|binary| given(binary)).collect::<Result<Vec<_>>>()?;
        let targets = self.targets()?;
        let mut all = binaries.iter().map(|(target, _)| *target).chain(targets.iter().copied());
        ensure!(all.any(ReleaseTarget::is_runnable), "{NONE_RUNS}: name this one, too, with --system, --processor or --binary");
        for target in targets {
            binaries.push((target, build::build(workspace, target, &format!("{version} ({commit}{dirty})"))?));
        }
        let folder = workspace.target.join("packages");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        let release = Release { version: version.to_owned(), time, repository: self.repository.clone(), folder };
        let nfpm = packages::nfpm(workspace)?;
        write(workspace, &release, &binaries, &nfpm, self.releases.as_deref())?;
        if self.smoke {
            smoke::run(workspace, &release, &binaries.iter().map(|(target, _)| *target).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// What is to be built. Every processor for every system.
    fn targets(&self) -> Result<Vec<ReleaseTarget>> {
        let processors = match (&*self.processor, Processor::own()) {
            ([], _) if !self.binary.is_empty() => {
                ensure!(self.system.is_empty(), "name the processors of --system");
                Vec::new()
            }
            ([], own) => vec![own.context("name a processor: there are no packages for that of this machine")?],
            (named, _) => named.to_vec(),
        };
        let systems = if self.system.is_empty() { vec![TargetSystem::Linux] } else { self.system.clone() };
        Ok(systems
            .into_iter()
            .flat_map(|system| processors.iter().map(move |processor| ReleaseTarget { system, processor: *processor }))
            .collect())
    }
}

/// Manual pages and completions are written by the binary.
const NONE_RUNS: &str = "one of the binaries must run on this machine";

/// All files of a release.
fn write(
    workspace: &Workspace,
    release: &Release,
    binaries: &[(ReleaseTarget, PathBuf)],
    nfpm: &Path,
    releases: Option<&str>,
) -> Result<()> {
    let documents = binaries.iter().find(|(target, _)| target.is_runnable()).context(NONE_RUNS)?;
    let targets: Vec<ReleaseTarget> = binaries.iter().map(|(target, _)| *target).collect();
    let (metadata, bundled) = (linked::metadata(workspace, &targets)?, bundled::libraries(workspace, binaries)?);
    fs::create_dir_all(&release.folder)?;
    notices::write(&metadata, &bundled, release)?;
    for (target, binary) in binaries {
        release.archive(workspace, *target, binary, (documents.0, documents.1.as_path()))?;
        if target.system == TargetSystem::Linux {
            packages::write(nfpm, release, *target)?;
            image::write(release, *target)?;
        }
        npm::binary(release, *target)?;
    }
    npm::main(workspace, release)?;
    sbom::write(&metadata, &bundled, release)?;
    if let Some(releases) = releases {
        sources::write(release, &targets, releases.trim_end_matches('/'))?;
    }
    release.checksums()
}

/// The caller's binary, checked to run where packages are installed.
fn given(binary: &Path) -> Result<(ReleaseTarget, PathBuf)> {
    let found = fs::canonicalize(binary).with_context(|| format!("cannot find {}", binary.display()))?;
    let file = fs::read(&found).with_context(|| format!("cannot read {}", binary.display()))?;
    linkage::target(&file).map(|target| (target, found)).map_err(|problem| anyhow!("{} cannot be packaged: {problem}", binary.display()))
}
