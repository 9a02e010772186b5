//! Archives that are the same bytes each time, on any machine at any time.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// Packs entries of a folder into the same bytes each time, compressed if the archive's name ends with `.gz`. `time`: the time of all files, in seconds
/// since 1970.
pub fn tar(time: &str, from: &Path, entries: &[&str], to: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.current_dir(from).args(["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{time}"));
    if to.extension().is_some_and(|end| end == "gz") {
        // gzip would add the current time.
        tar.arg("--use-compress-program=gzip -n");
    }
    tar.arg("-cf");
    process::run(tar.arg(to).args(entries))
}
