//! The web page: npm's part of the repository. The scripts themselves are in `web/package.json`.
//!
//! The built page is committed in the report crate, which embeds it, so building the binary needs no Node.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

const FOLDER: &str = "web";

/// Builds the page and copies it to the report crate.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    script(workspace, "assets")
}

/// Fails if the embedded page differs from what the sources build.
pub(crate) fn check_asset(workspace: &Workspace) -> Result<()> {
    script(workspace, "check-assets")
}

fn script(workspace: &Workspace, name: &str) -> Result<()> {
    install(workspace, FOLDER)?;
    process::run(workspace.command("npm").args(["run", "--silent", name, "--prefix", FOLDER]))
}

/// Types, the embedded page and the page's tests. `see` gets every line of output.
pub(crate) fn test(workspace: &Workspace, see: impl FnMut(&str)) -> Result<bool> {
    install(workspace, FOLDER)?;
    // Tests of `loadstone ui` start the binary of the test build.
    let binary = workspace.development_binary();
    let mut command = workspace.command("npm");
    command.args(["test", "--silent", "--prefix", FOLDER]).env("LOADSTONE_BINARY", binary).env("LOADSTONE_HOUR", hour(workspace)?);
    command.env("LOADSTONE_CORPUS", corpus(workspace)?);
    process::stream(&mut command, see)
}

/// The report of a simulated hour, written by an example of the test build.
fn hour(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("hour");
    let example = workspace.target.join("debug/examples/hour");
    process::run(workspace.command(&example.to_string_lossy()).arg(&folder))?;
    // A run directory of about 60 MB, new every time.
    fs::remove_dir_all(folder.join("runs")).with_context(|| format!("deleting the run in {}", folder.display()))?;
    Ok(folder.join("report.html"))
}

/// The views of recorded runs, written by another example.
fn corpus(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("corpus");
    let example = workspace.target.join("debug/examples/corpus");
    process::run(workspace.command(&example.to_string_lossy()).arg(&folder))?;
    Ok(folder)
}

/// `npm ci` in a folder, unless its lock file is installed already. Its output goes to standard error.
pub(crate) fn install(workspace: &Workspace, folder: &str) -> Result<()> {
    if is_installed(workspace, folder) {
        return Ok(());
    }
    let lock = lock_file(workspace, folder);
    let lock = fs::read(&lock).with_context(|| format!("reading {}", lock.display()))?;
    process::run_aside(workspace.command("npm").args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder]))?;
    let stamp = installed_stamp(workspace, folder);
    fs::create_dir_all(stamp.with_file_name(""))?;
    fs::write(&stamp, lock).with_context(|| format!("writing {}", stamp.display()))
}

/// Whether the packages of a folder's lock file are installed.
pub(crate) fn is_installed(workspace: &Workspace, folder: &str) -> bool {
    let installed = fs::read(installed_stamp(workspace, folder));
    installed.is_ok_and(|installed| fs::read(lock_file(workspace, folder)).is_ok_and(|lock| lock == installed))
}

fn lock_file(workspace: &Workspace, folder: &str) -> PathBuf {
    workspace.root.join(folder).join("package-lock.json")
}

/// A copy of the lock file that `npm ci` was run for; `npm ci` removes it with the rest of the folder.
fn installed_stamp(workspace: &Workspace, folder: &str) -> PathBuf {
    workspace.root.join(folder).join("node_modules/.installed-lock.json")
}
