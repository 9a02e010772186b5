//! Builds the binary of a release, for this machine's processor or, with zig, for another.

use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

use super::processor::Processor;
use super::zig;

/// A binary that needs no library of the machine it runs on.
pub(super) fn build(workspace: &Workspace, processor: Processor, version: &str) -> Result<PathBuf> {
    let triple = processor.triple();
    let mut cargo = workspace.command("cargo");
    if triple.ends_with("-gnu") {
        cargo.arg("build");
        // For the target alone: build scripts and macros are linked as usual.
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
        cargo.env(flags, "-C target-feature=+crt-static");
    } else {
        let mut rustup = workspace.command("rustup");
        process::run_aside(rustup.args(["target", "add", triple])).context("the standard library of that processor is missing")?;
        cargo.arg("zigbuild").env("PATH", zig::search_path(workspace)?);
    }
    cargo.args(["--profile", "dist", "--locked", "--package", "loadstone", "--target", triple]);
    process::run(cargo.env("LOADSTONE_BUILD", version))?;
    Ok(workspace.target.join(triple).join("dist/loadstone"))
}
