//! cargo-zigbuild and zig, which compiles and links C for any processor. `xtask/zig.txt` pins both.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

const PINS: &str = include_str!("../../zig.txt");

/// A search path that begins with both programs, which are installed if they are missing.
pub(crate) fn search_path(workspace: &Workspace) -> Result<OsString> {
    let folder = install(workspace)?;
    let present = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.join("bin"), folder.join("ziglang")].into_iter().chain(env::split_paths(&present));
    env::join_paths(folders).context("the search path cannot contain this checkout's folder")
}

fn install(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.tools().join("zig");
    let stamp = folder.join("zig.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == PINS) {
        return Ok(folder);
    }
    eprintln!("installing cargo-zigbuild and zig");
    fs::remove_dir_all(&folder).ok();
    let mut pip = workspace.command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--disable-pip-version-check"]);
    pip.args(["--no-input", "--requirement", "xtask/zig.txt", "--target"]).arg(&folder).env("PIP_ROOT_USER_ACTION", "ignore");
    process::run_aside(&mut pip).context("zig comes from pip only")?;
    fs::write(&stamp, PINS).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(folder)
}
