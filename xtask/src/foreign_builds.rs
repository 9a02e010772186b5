//! `cargo xtask asan` and `cargo xtask aarch64`: the tests of crates/k6, which switches stacks below C code, in builds that the check does not make.
//! `cargo xtask macos`: the binary for macOS, compiled and linked, which does not run here.
//!
//! Each has its own target folder, so that neither build invalidates the other's artefacts. Deliberately absent: the rest of the workspace, which has no
//! unsafe code of that kind.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use checkout::{Workspace, process};

use crate::check::build;
use crate::dist::zig;

const PACKAGE: &str = "loadstone-k6";
const NATIVE: &str = "x86_64-unknown-linux-gnu";
const FOREIGN: &str = "aarch64-unknown-linux-musl";
const MACS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];
/// Reads beyond a buffer in the C code of QuickJS, on a coroutine. crates/k6/src/realm.rs has it.
const PLANTED: &str = "quickjs_reads_beyond_a_buffer";
/// Tests that assert how much memory something takes. The sanitizer adds to it, and the emulator reports its own.
const OF_MEMORY: &[&str] =
    &["stacks_are_mapped_lazily", "pages_of_earlier_calls_are_returned", "a_vu_takes_memory_for_what_its_script_uses"];

/// Tests with AddressSanitizer. QuickJS is compiled with it, because its build script reads the compiler's flag, and does not pool small blocks then.
pub(crate) fn asan(workspace: &Workspace) -> Result<()> {
    let output = sanitized(workspace, &["--lib", "--", PLANTED]).env("LOADSTONE_PLANTED_ERROR", "1").output().context("starting cargo")?;
    let report = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    ensure!(
        !output.status.success() && report.contains("AddressSanitizer: heap-buffer-overflow"),
        "AddressSanitizer did not report the planted error, so its silence about the tests means nothing:\n{report}"
    );
    println!("the planted error is reported");
    process::run(&mut sanitized(workspace, &[&["--lib", "--tests", "--"] as &[&str], &skipping()].concat()))
}

fn sanitized(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut cargo = workspace.command("cargo");
    cargo.args(["test", "--locked", "--package", PACKAGE, "--features", "sanitizer", "--target", NATIVE, "--target-dir"]);
    cargo.arg(workspace.target.join("asan")).args(arguments);
    // The sanitizer's runtime belongs to the stable compiler, and only its flag is unstable.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    cargo.env("ASAN_OPTIONS", "detect_stack_use_after_return=0:detect_leaks=1");
    cargo
}

/// Tests for arm64, emulated. QuickJS is compiled by zig.
pub(crate) fn aarch64(workspace: &Workspace) -> Result<()> {
    if process::find("qemu-aarch64-static").is_none() {
        bail!("qemu-aarch64-static is missing: install Debian's package qemu-user-static");
    }
    let mut rustup = workspace.command("rustup");
    process::run_aside(rustup.args(["target", "add", FOREIGN])).context("the standard library of that processor is missing")?;
    let mut cargo = zig::cargo(workspace)?;
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", "qemu-aarch64-static");
    cargo.args(["test", "--locked", "--package", PACKAGE, "--target", FOREIGN, "--target-dir"]).arg(workspace.target.join("aarch64"));
    process::run(cargo.args(["--lib", "--tests", "--"]).args(skipping()))
}

/// Compiles and links the binary for both processors of a Mac, without optimisation. A warning is an error.
pub(crate) fn macos(workspace: &Workspace) -> Result<()> {
    for triple in MACS {
        let mut rustup = workspace.command("rustup");
        process::run_aside(rustup.args(["target", "add", triple])).context("the standard library of that system is missing")?;
        let mut cargo = zig::for_macos(workspace, triple)?;
        cargo.args(["--config", "profile.dev.package.\"*\".opt-level=0", "--target-dir"]).arg(workspace.target.join("macos"));
        build::without_warnings(zig::link_with_stubs(workspace, &mut cargo)?)?;
    }
    Ok(())
}

fn skipping() -> Vec<&'static str> {
    OF_MEMORY.iter().flat_map(|test| ["--skip", test]).collect()
}
