//! What downloads a release's archives: the script `install.sh` and a formula for Homebrew.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use super::processor::Processor;
use super::release::Release;
use super::target::{ReleaseTarget, TargetSystem};

const SCRIPT: &str = include_str!("install.sh");
const FORMULA: &str = include_str!("loadstone.rb");

/// `releases`: the address of the folder with this release's files, without a slash at its end.
pub(super) fn write(release: &Release, targets: &[ReleaseTarget], releases: &str) -> Result<()> {
    let script = SCRIPT.replace("VERSION", &release.version);
    // The placeholder, not the variable whose name contains it.
    fs::write(
        release.folder.join("install.sh"),
        script.replace(":-RELEASES", &format!(":-{releases}")).replace("fsSL RELEASES", &format!("fsSL {releases}")),
    )?;
    fs::write(release.folder.join("loadstone.rb"), formula(release, targets, releases)?)?;
    Ok(())
}

/// A system without a target here is not in the formula, so Homebrew reports that it has nothing to install there.
fn formula(release: &Release, targets: &[ReleaseTarget], releases: &str) -> Result<String> {
    let mut systems = String::new();
    for (system, block) in [(TargetSystem::Macos, "on_macos"), (TargetSystem::Linux, "on_linux")] {
        let archives = targets.iter().filter(|target| target.system == system).map(|target| archive(release, *target, releases));
        let archives = archives.collect::<Result<Vec<String>>>()?;
        if !archives.is_empty() {
            // Formatting into a string cannot fail.
            let _ok = write!(systems, "  {block} do\n{}  end\n\n", archives.concat());
        }
    }
    let homepage = release.repository.as_deref().unwrap_or(releases);
    let filled = FORMULA.replace("ARCHIVES", systems.trim_end()).replace("HOMEPAGE", homepage).replace("VERSION", &release.version);
    Ok(filled)
}

fn archive(release: &Release, target: ReleaseTarget, releases: &str) -> Result<String> {
    let name = format!("{}.tar.gz", release.archive_name(target));
    let block = match target.processor {
        Processor::X86_64 => "on_intel",
        Processor::Aarch64 => "on_arm",
    };
    let sum = release.checksum(&name)?;
    Ok(format!("    {block} do\n      url \"{releases}/{name}\"\n      sha256 \"{sum}\"\n    end\n"))
}
