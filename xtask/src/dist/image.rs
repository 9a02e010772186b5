//! The container image of a release: one layer with the binary, the certificates of authorities if this machine has them, and a folder for runs.

use std::fs;

use anyhow::Result;
use checkout::image::{Image, LOADSTONE, lay_out};

use super::release::Release;

pub(super) fn write(release: &Release) -> Result<()> {
    let work = release.folder.join("oci");
    let root = work.join("root");
    lay_out(&root, &release.tree().join("loadstone"))?;
    let (name, time) = (format!("loadstone:{}", release.version), &*release.time);
    let archive = release.folder.join(format!("loadstone-{}-image.tar", release.version));
    Image { name: &name, root: &root, entry: LOADSTONE, time }.write(&work, &archive)?;
    Ok(fs::remove_dir_all(work)?)
}
