//! What fuzzing needs and the workspace does not: a nightly compiler, whose sanitizers and coverage are not in stable ones, and cargo-fuzz.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use checkout::Workspace;
use checkout::process;

const CARGO_FUZZ: &str = "0.13.1";
const NIGHTLY: &str = "nightly";

/// Installs what is missing. Returns where cargo-fuzz is.
pub(super) fn install(workspace: &Workspace) -> Result<PathBuf> {
    compiler()?;
    let folder = workspace.tools().join("fuzz");
    let program = folder.join("bin/cargo-fuzz");
    let version = || process::output(Command::new(&program).arg("--version"));
    if !(program.is_file() && version().is_ok_and(|version| version.trim() == format!("cargo-fuzz {CARGO_FUZZ}"))) {
        println!("installing cargo-fuzz {CARGO_FUZZ}");
        let mut install = Command::new("cargo");
        process::run(install.args(["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ, "--root"]).arg(&folder))?;
    }
    Ok(program)
}

fn compiler() -> Result<()> {
    if process::find("rustup").is_none() {
        bail!("fuzzing needs a nightly compiler, and there is no rustup to install one: https://rustup.rs");
    }
    let toolchains = process::output(Command::new("rustup").args(["toolchain", "list"]))?;
    if toolchains.lines().any(is_nightly) {
        return Ok(());
    }
    println!("installing the {NIGHTLY} toolchain");
    process::run(Command::new("rustup").args(["toolchain", "install", NIGHTLY, "--profile", "minimal"]))
        .context("fuzzing needs a nightly compiler: `rustup toolchain install nightly`")
}

/// `nightly-x86_64-unknown-linux-gnu (default)`, but none of a fixed day: that is not the one called `nightly`.
fn is_nightly(toolchain: &str) -> bool {
    let rest = toolchain.strip_prefix(NIGHTLY).map(|rest| rest.trim_start_matches('-'));
    rest.is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// A program that finds the nightly toolchain as its own.
pub(super) fn nightly(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", NIGHTLY]).arg(program);
    command
}

/// The default target of the nightly compiler: `x86_64-unknown-linux-gnu`.
pub(super) fn host() -> Result<String> {
    let version = process::output(nightly("rustc").arg("-vV"))?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).context("rustc -vV names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nightly_of_a_day_is_another_toolchain() {
        assert!(is_nightly("nightly-x86_64-unknown-linux-gnu (default)") && is_nightly("nightly"));
        assert!(!is_nightly("nightly-2026-01-31-x86_64-unknown-linux-gnu") && !is_nightly("stable-x86_64-unknown-linux-gnu"));
    }
}
