//! Does memory stay flat? Resident memory at full rate, from the end of the first minute on.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::machine::GENERATOR_CORE;

use super::idle::resident_bytes;
use super::nginx::Nginx;

const FIRST: Duration = Duration::from_secs(60);
const BETWEEN: Duration = Duration::from_secs(10);

/// One sentence for the report.
pub(super) fn measure(binary: &Path, script: &Path, server: &Nginx, minutes: u32) -> Result<String> {
    if minutes < 2 {
        bail!("the first minute does not count: take two or more");
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", "--no-save", "--quiet", "--workers", "1"]).arg(script);
    command.args(["-p", &format!("target={}", server.urls.plain), "-p", "count=50", "-p", &format!("time={}m", minutes + 1)]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting loadstone")?;
    thread::sleep(FIRST);
    let readings: Result<Vec<f64>> = (0..(minutes - 1) * 6)
        .map(|_| {
            thread::sleep(BETWEEN);
            resident_bytes(child.id())
        })
        .collect();
    child.kill()?;
    child.wait()?;
    let readings = readings?;
    let (first, last) = (readings.first().context("no reading")?, readings.last().context("no reading")?);
    let peak = readings.iter().copied().fold(0.0, f64::max);
    Ok(format!(
        "Memory at full rate for {minutes} minutes: {:.2} MB after the first, {:.2} MB at the end ({:+.2} MB), at most {:.2} MB.",
        first / 1e6,
        last / 1e6,
        (last - first) / 1e6,
        peak / 1e6
    ))
}
