//! This machine: its processor and load, the two cores that measurements use, the binary under test and other load generators.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

/// The core of the load generator, and the core of the server.
pub const GENERATOR_CORE: usize = 0;
pub const SERVER_CORE: usize = 1;

/// `2026-11-20`
pub fn today() -> Result<String> {
    Ok(process::output(Command::new("date").args(["-u", "+%F"]))?.trim().to_owned())
}

/// One line: processor, cores, kernel, and the load average. Every measured figure is published with it.
pub fn facts() -> Result<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = process::output(Command::new("uname").arg("-sr"))?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    Ok(format!("{model}, {cores} cores, {}; load average at the end {load} (about 2 when nothing else runs).", kernel.trim()))
}

/// The kind of machine, for pages that do not name the processor.
pub fn kind() -> Result<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let is_virtual = cpuinfo.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    let release = process::output(Command::new("uname").arg("-r"))?;
    let version: Vec<&str> = release.trim().split(['.', '-']).take(2).collect();
    Ok(format!("{} with {cores} cores, Linux {}", if is_virtual { "a virtual machine" } else { "a machine" }, version.join(".")))
}

/// The named binary, or the release build.
pub fn release_binary(workspace: &Workspace, named: Option<&Path>) -> Result<PathBuf> {
    if let Some(binary) = named {
        return fs::canonicalize(binary).with_context(|| format!("there is no {}", binary.display()));
    }
    process::run(workspace.command("cargo").args(["build", "--profile", "dist", "--locked", "--package", "loadstone"]))?;
    Ok(workspace.target.join("dist/loadstone"))
}

/// Builds the development binary and returns its path.
pub fn development_binary(workspace: &Workspace) -> Result<PathBuf> {
    process::run(workspace.command("cargo").args(["build", "--quiet", "--package", "loadstone"]))?;
    Ok(workspace.development_binary())
}

/// Another load generator: installed by `cargo xtask bench --install`, or on the search path.
pub fn generator(workspace: &Workspace, program: &str) -> Option<PathBuf> {
    let installed = workspace.tools().join("bench/bin").join(program);
    if installed.is_file() { Some(installed) } else { process::find(program) }
}
