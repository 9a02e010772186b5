//! The container image of a release: one layer with the binary, its licences, the certificates of authorities if this machine has them, and a folder for runs.

use std::fs;

use anyhow::Result;
use checkout::image::{Image, LOADSTONE, lay_out};

use super::release::{NOTICES, Release};
use super::target::ReleaseTarget;

/// For a target of Linux.
pub(super) fn write(release: &Release, target: ReleaseTarget) -> Result<()> {
    let work = release.folder.join("oci");
    let root = work.join("root");
    lay_out(&root, &release.tree(target).join("loadstone"))?;
    let documents = root.join("usr/share/doc/loadstone");
    fs::create_dir_all(&documents)?;
    for name in ["LICENSE", NOTICES] {
        fs::copy(release.tree(target).join(name), documents.join(name))?;
    }
    let name = format!("loadstone:{}", release.version);
    let archive = release.folder.join(format!("loadstone-{}-{}-image.tar", release.version, target.processor.name()));
    Image { name: &name, architecture: target.processor.go_name(), root: &root, entry: LOADSTONE, time: &release.time }
        .write(&work, &archive)?;
    Ok(fs::remove_dir_all(work)?)
}
