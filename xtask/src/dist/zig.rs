//! cargo-zigbuild and zig, which compiles and links C for any processor. `xtask/zig.txt` pins both.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

const PINS: &str = include_str!("../../zig.txt");
/// The oldest macOS that a binary starts on; the compiler's own value is 10.12 for x86-64 and 11.0 for arm64. The release workflow and docs/macos.md state it.
const MACOS_VERSION_MIN: &str = "11.0";

/// A search path that begins with both programs, which are installed if they are missing.
fn search_path(workspace: &Workspace) -> Result<OsString> {
    let folder = install(workspace)?;
    let present = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.join("bin"), folder.join("ziglang")].into_iter().chain(env::split_paths(&present));
    env::join_paths(folders).context("the search path cannot contain this checkout's folder")
}

/// cargo-zigbuild, whose commands are those of cargo.
pub(crate) fn cargo(workspace: &Workspace) -> Result<Command> {
    let search_path = search_path(workspace)?;
    let folder = env::split_paths(&search_path).next().context("the search path is empty")?;
    let mut cargo = Command::new(folder.join("cargo-zigbuild"));
    cargo.current_dir(&workspace.root).env("PATH", search_path);
    Ok(cargo)
}

/// A build of the binary for a Mac. Add arguments of cargo, then [`link_with_stubs`].
pub(crate) fn for_macos(workspace: &Workspace, triple: &str) -> Result<Command> {
    let mut cargo = cargo(workspace)?;
    cargo.args(["rustc", "--locked", "--package", "loadstone", "--bin", "loadstone", "--target", triple]);
    cargo.env("MACOSX_DEPLOYMENT_TARGET", MACOS_VERSION_MIN);
    Ok(cargo)
}

/// Links a Mac's binary on another machine: by LLVM's linker, which the toolchain contains (zig's own ends with a segmentation fault), against the system's
/// library as zig has it, and Apple's frameworks as `xtask/macos-stubs` describes them: which symbols they export. A Mac has the libraries themselves.
pub(crate) fn link_with_stubs<'a>(workspace: &Workspace, cargo: &'a mut Command) -> Result<&'a mut Command> {
    let stubs = workspace.root.join("xtask/macos-stubs");
    let system = install(workspace)?.join("ziglang/lib/libc/darwin");
    cargo.args(["--", "-C", "linker=rust-lld", "-C", "linker-flavor=ld64.lld"]);
    for argument in [format!("-F{}", stubs.display()), format!("-L{}", stubs.display()), format!("-L{}", system.display())] {
        cargo.args(["-C", &format!("link-arg={argument}")]);
    }
    Ok(cargo)
}

/// The sources of the musl that zig links programs for Linux with. The folder does not exist before zig was needed.
pub(super) fn musl(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("zig/ziglang/lib/libc/musl")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_and_builds_on_linux_start_on_the_same_macos() {
        let workflow = include_str!("../../../.github/workflows/release.yml");
        assert!(workflow.contains(&format!("MACOSX_DEPLOYMENT_TARGET: \"{MACOS_VERSION_MIN}\"")));
        assert!(include_str!("../../../docs/macos.md").contains("macOS 11 or newer"));
    }
}
