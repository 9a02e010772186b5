//! The Debian package: an `ar` archive with the format's version and two tar archives (deb(5)).

use std::fs;
use std::process::Command;

use anyhow::Result;
use checkout::process;

use super::release::{Release, SHELLS};

/// Where Debian has completions.
const COMPLETIONS: [&str; 3] = [
    "usr/share/bash-completion/completions/loadstone",
    "usr/share/zsh/vendor-completions/_loadstone",
    "usr/share/fish/vendor_completions.d/loadstone.fish",
];

pub(super) fn write(release: &Release) -> Result<()> {
    let (work, tree) = (release.folder.join("deb"), release.tree());
    let (control, data) = (work.join("control"), work.join("data"));
    for folder in ["usr/bin", "usr/share/man/man1", "usr/share/doc/loadstone"] {
        fs::create_dir_all(data.join(folder))?;
    }
    fs::create_dir_all(&control)?;
    fs::copy(tree.join("loadstone"), data.join("usr/bin/loadstone"))?;
    fs::copy(tree.join("LICENSE"), data.join("usr/share/doc/loadstone/copyright"))?;
    for page in fs::read_dir(tree.join("man"))? {
        let page = page?;
        fs::copy(page.path(), data.join("usr/share/man/man1").join(page.file_name()))?;
    }
    for ((_, name), to) in SHELLS.iter().zip(COMPLETIONS) {
        let to = data.join(to);
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(tree.join("completions").join(name), to)?;
    }
    let kilobytes = fs::metadata(tree.join("loadstone"))?.len() / 1024;
    fs::write(control.join("control"), control_file(&release.version, kilobytes))?;
    release.tar(&control, &["./control"], &work.join("control.tar.gz"))?;
    release.tar(&data, &["./usr"], &work.join("data.tar.gz"))?;
    fs::write(work.join("debian-binary"), "2.0\n")?;
    let package = release.folder.join(format!("loadstone_{}_amd64.deb", release.version));
    // The order is part of the format.
    process::run(Command::new("ar").current_dir(&work).arg("rcD").arg(&package).args(["debian-binary", "control.tar.gz", "data.tar.gz"]))?;
    Ok(fs::remove_dir_all(work)?)
}

fn control_file(version: &str, kilobytes: u64) -> String {
    format!(
        "Package: loadstone\nVersion: {version}\nArchitecture: amd64\nMaintainer: The Loadstone developers <loadstone@localhost>\n\
         Installed-Size: {kilobytes}\nSection: net\nPriority: optional\nDescription: load tests that tell you why\n \
         Loadstone makes load as a TypeScript test says, and tells whether the measurement\n was valid, whether objectives were met, and what limits \
         the system.\n"
    )
}
