//! The facts about a machine that a figure is worth nothing without.

use std::fs;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// `2026-11-20`
pub(super) fn today() -> Result<String> {
    Ok(process::output(Command::new("date").args(["-u", "+%F"]))?.trim().to_owned())
}

/// One line: processor, cores, kernel, and how busy the machine was with other things.
pub(super) fn facts() -> Result<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let cores = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = process::output(Command::new("uname").arg("-sr"))?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let load = load.split_whitespace().next().unwrap_or("?").to_owned();
    Ok(format!("{model}, {cores} cores, {}; load average at the end {load} (about 2 when nothing else runs).", kernel.trim()))
}
