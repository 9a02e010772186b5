//! How busy the machine is with other things: findings about a shared machine speak of its other users, too.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// Above this share, what others do can be what a finding speaks of.
pub(super) const BUSY_MAX: f64 = 0.1;
const LOOK: Duration = Duration::from_secs(1);

/// Share of all cores that is used while nothing of the benchmark runs.
pub(super) fn busy_share() -> Result<f64> {
    let before = ticks(&fs::read_to_string("/proc/stat")?)?;
    thread::sleep(LOOK);
    let after = ticks(&fs::read_to_string("/proc/stat")?)?;
    Ok(share(before, after))
}

/// `(idle, all)` since the machine was started. Waiting for a disk is idle; time stolen by other guests is not (proc(5)).
fn ticks(stat: &str) -> Result<(u64, u64)> {
    let line = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).context("/proc/stat has no line for all cores")?;
    let columns: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    // Guests' time, which follows the first eight, is part of user time already.
    let all = columns.iter().take(8).sum();
    Ok((columns.iter().skip(3).take(2).sum(), all))
}

fn share((idle_before, before): (u64, u64), (idle_after, after): (u64, u64)) -> f64 {
    let all = after.saturating_sub(before).max(1) as f64;
    1.0 - idle_after.saturating_sub(idle_before) as f64 / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_waiting_for_a_disk_is_busy() {
        let before = ticks("cpu  100 0 50 800 40 5 5 0 7 0\ncpu0 …").unwrap();
        let after = ticks("cpu  120 0 60 850 50 5 10 5 9 0\ncpu0 …").unwrap();
        assert!((share(before, after) - 0.4).abs() < 1e-9);
        assert!(ticks("intr 1").is_err());
    }
}
