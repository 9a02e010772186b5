//! The container image of a release: one layer with the binary, the certificates of authorities if this machine has them, and a folder for runs.

use std::fs;

use anyhow::Result;
use checkout::image::{Image, LOADSTONE, lay_out};

use super::release::Release;
use super::target::ReleaseTarget;

/// For a target of Linux.
pub(super) fn write(release: &Release, target: ReleaseTarget) -> Result<()> {
    let work = release.folder.join("oci");
    let root = work.join("root");
    lay_out(&root, &release.tree(target).join("loadstone"))?;
    let name = format!("loadstone:{}", release.version);
    let archive = release.folder.join(format!("loadstone-{}-{}-image.tar", release.version, target.processor.name()));
    Image { name: &name, architecture: target.processor.go_name(), root: &root, entry: LOADSTONE, time: &release.time }
        .write(&work, &archive)?;
    Ok(fs::remove_dir_all(work)?)
}
