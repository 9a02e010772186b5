//! Builds the binary of a release, for this machine or, with zig, for another system or processor.

use std::path::PathBuf;

use anyhow::{Context, Result};
use checkout::Workspace;
use checkout::process;

use super::target::{ReleaseTarget, TargetSystem};
use super::zig;

/// A binary that needs no library of the machine it runs on, or for macOS only those of the system.
pub(super) fn build(workspace: &Workspace, target: ReleaseTarget, version: &str) -> Result<PathBuf> {
    let triple = target.triple();
    if !triple.ends_with("-gnu") {
        let mut rustup = workspace.command("rustup");
        process::run_aside(rustup.args(["target", "add", triple])).context("the standard library of that target is missing")?;
    }
    let mut cargo = match target.system {
        TargetSystem::Macos => zig::for_macos(workspace, triple)?,
        TargetSystem::Linux => {
            let mut cargo = if triple.ends_with("-gnu") { workspace.command("cargo") } else { zig::cargo(workspace)? };
            cargo.arg(if triple.ends_with("-gnu") { "build" } else { "zigbuild" });
            cargo.args(["--locked", "--package", "loadstone", "--target", triple]);
            cargo
        }
    };
    if triple.ends_with("-gnu") {
        // For the target alone: build scripts and macros are linked as usual.
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
        cargo.env(flags, "-C target-feature=+crt-static");
    }
    cargo.args(["--profile", "dist"]).env("LOADSTONE_BUILD", version);
    if target.system == TargetSystem::Macos {
        zig::link_with_stubs(workspace, &mut cargo)?;
    }
    process::run(&mut cargo)?;
    Ok(workspace.target.join(triple).join("dist/loadstone"))
}
