//! What downloads a release's archives: the script `install.sh` and a formula for Homebrew on Linux.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use super::processor::Processor;
use super::release::Release;

const SCRIPT: &str = include_str!("install.sh");
const FORMULA: &str = include_str!("loadstone.rb");

/// `releases`: the address of the folder with this release's files, without a slash at its end.
pub(super) fn write(release: &Release, processors: &[Processor], releases: &str) -> Result<()> {
    let script = SCRIPT.replace("VERSION", &release.version);
    // The placeholder, not the variable whose name contains it.
    fs::write(
        release.folder.join("install.sh"),
        script.replace(":-RELEASES", &format!(":-{releases}")).replace("fsSL RELEASES", &format!("fsSL {releases}")),
    )?;
    fs::write(release.folder.join("loadstone.rb"), formula(release, processors, releases)?)?;
    Ok(())
}

fn formula(release: &Release, processors: &[Processor], releases: &str) -> Result<String> {
    let mut archives = String::new();
    for processor in processors {
        let name = format!("{}.tar.gz", release.archive_name(*processor));
        let block = match processor {
            Processor::X86_64 => "on_intel",
            Processor::Aarch64 => "on_arm",
        };
        let sum = release.checksum(&name)?;
        // Formatting into a string cannot fail.
        let _ok = write!(archives, "    {block} do\n      url \"{releases}/{name}\"\n      sha256 \"{sum}\"\n    end\n");
    }
    let filled = FORMULA.replace("ARCHIVES", archives.trim_end()).replace("RELEASES", releases).replace("VERSION", &release.version);
    Ok(filled)
}
