//! What one more idle user with an open connection weighs: the slope of the generator's memory over the number of users.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use checkout::machine::GENERATOR_CORE;

use super::nginx::Nginx;

/// 1,000 to 15,000 as in the target; what lies between shows whether it is a line.
const USERS: [u64; 4] = [1_000, 5_000, 10_000, 15_000];
const CONNECT_LIMIT_S: u32 = 120;

/// Users and resident memory in bytes, for each number of users.
pub(super) struct IdleMemory(Vec<(u64, f64)>);

pub(super) fn measure(binary: &Path, script: &Path, server: &Nginx) -> Result<IdleMemory> {
    let weigh = |&users: &u64| {
        let bytes = resident_with(binary, script, server, users)?;
        println!("{users} idle users: {:.1} MB", bytes / 1e6);
        Ok((users, bytes))
    };
    USERS.iter().map(weigh).collect::<Result<_>>().map(IdleMemory)
}

impl IdleMemory {
    pub(super) fn sentence(&self) -> String {
        let points: Vec<String> = self.0.iter().map(|(users, bytes)| format!("{users}: {:.1} MB", bytes / 1e6)).collect();
        format!(
            "Memory for each further idle user with an open connection: {:.2} KB (resident: {}).",
            self.slope() / 1e3,
            points.join(", ")
        )
    }

    /// Least squares. Bytes per user.
    fn slope(&self) -> f64 {
        let count = self.0.len() as f64;
        let mean_users = self.0.iter().map(|(users, _)| *users as f64).sum::<f64>() / count;
        let mean_bytes = self.0.iter().map(|(_, bytes)| bytes).sum::<f64>() / count;
        let covariance: f64 = self.0.iter().map(|(users, bytes)| (*users as f64 - mean_users) * (bytes - mean_bytes)).sum();
        let variance: f64 = self.0.iter().map(|(users, _)| (*users as f64 - mean_users).powi(2)).sum();
        covariance / variance
    }
}

fn resident_with(binary: &Path, script: &Path, server: &Nginx, users: u64) -> Result<f64> {
    let mut command = Command::new("taskset");
    command.args(["-c", &GENERATOR_CORE.to_string()]).arg(binary).args(["run", "--no-save", "--quiet"]).arg(script);
    command.args(["-p", &format!("target={}", server.urls.plain), "-p", &format!("count={users}")]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting loadstone")?;
    let bytes = connected(&mut child, server, users).and_then(|()| settled(&child));
    // It would idle for an hour.
    child.kill()?;
    child.wait()?;
    // The server's side goes first, or the next measurement would count these connections.
    until("connections to be closed", || Ok(server.connections()? < 10))?;
    bytes
}

fn connected(child: &mut Child, server: &Nginx, users: u64) -> Result<()> {
    until("users to be connected", || {
        if let Some(status) = child.try_wait()? {
            bail!("loadstone ended with {status} before its {users} users were connected");
        }
        // The connection that asks is one of them.
        Ok(server.connections()? > users)
    })
}

/// Resident memory once it has stopped moving: three readings, a second apart, within half a percent.
fn settled(child: &Child) -> Result<f64> {
    let mut last = [0.0_f64; 3];
    for _ in 0..CONNECT_LIMIT_S {
        last = [last[1], last[2], resident_bytes(child.id())?];
        let (low, high) = (last.iter().copied().fold(f64::INFINITY, f64::min), last.iter().copied().fold(0.0, f64::max));
        if high - low < 0.005 * high {
            return Ok(last[2]);
        }
        thread::sleep(Duration::from_secs(1));
    }
    bail!("the memory of idle users does not settle: {last:?} bytes")
}

fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..CONNECT_LIMIT_S * 5 {
        if holds()? {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(200));
    }
    bail!("waited {CONNECT_LIMIT_S} s for {what}")
}

/// Resident memory of a process.
pub(super) fn resident_bytes(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS of the generator")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().with_context(|| format!("VmRSS is `{line}`"))?;
    Ok(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        let idle = IdleMemory([1_000, 5_000, 15_000].map(|users| (users, 20e6 + 7_500.0 * users as f64)).to_vec());
        assert!((idle.slope() - 7_500.0).abs() < 1e-6);
        assert!(idle.sentence().contains("7.50 KB"));
    }

    #[test]
    fn resident_memory_is_read_for_a_process() {
        assert!(resident_bytes(std::process::id()).unwrap() > 500_000.0);
    }
}
