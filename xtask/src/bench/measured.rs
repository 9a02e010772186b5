//! CPU time and memory of a finished child, and the arithmetic over rounds.

use std::mem::MaybeUninit;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Exit codes after which there is a measurement: done, and Loadstone's "the measurement is invalid". CPU time per request does not
/// depend on whether the generator got all the time it wanted.
const MEASURED: [i32; 2] = [0, 4];

/// What a child used from its start to its end.
pub(super) struct Usage {
    user_us: f64,
    system_us: f64,
    memory_peak_bytes: f64,
    /// It ended with another exit code than 0, as Loadstone does when it calls its own measurement invalid.
    pub(super) objected: bool,
}

/// Runs a command to its end and reads its resource usage: its own and that of children it waited for.
pub(super) fn run_and_measure(command: &mut Command) -> Result<Usage> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.with_context(|| format!("starting {command:?}"))?;
    let pid = libc::pid_t::try_from(child.id()).context("a process id")?;
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are valid for writes for the time of the call, and a zeroed `rusage` is a valid one.
    let (reaped, usage) = unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if reaped != pid {
        bail!("waiting for {command:?}: {}", std::io::Error::last_os_error());
    }
    if !libc::WIFEXITED(status) || !MEASURED.contains(&libc::WEXITSTATUS(status)) {
        bail!("{command:?} ended with status {status:#x}");
    }
    let microseconds = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Ok(Usage {
        user_us: microseconds(usage.ru_utime),
        system_us: microseconds(usage.ru_stime),
        // Linux counts in kilobytes (getrusage(2)).
        memory_peak_bytes: usage.ru_maxrss as f64 * 1024.0,
        objected: libc::WEXITSTATUS(status) != 0,
    })
}

/// One turn of one generator.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    /// User and system time for each request. Microseconds.
    pub(super) cpu_us: f64,
    user_us: f64,
    requests: f64,
    memory_peak_bytes: f64,
    objected: bool,
}

impl Measured {
    pub(super) fn of(usage: &Usage, requests: u64) -> Self {
        let requests = requests as f64;
        Self {
            cpu_us: (usage.user_us + usage.system_us) / requests,
            user_us: usage.user_us / requests,
            requests,
            memory_peak_bytes: usage.memory_peak_bytes,
            objected: usage.objected,
        }
    }
}

/// All turns of one generator.
#[derive(Default)]
pub(super) struct Rounds(Vec<Measured>);

impl Rounds {
    pub(super) fn push(&mut self, measured: Measured) {
        self.0.push(measured);
    }

    /// It was measured in every round, so that ratios are taken within rounds.
    pub(super) fn are_all(&self, rounds: u32) -> bool {
        self.0.len() == rounds as usize
    }

    /// Turns after which the generator called its own measurement invalid.
    pub(super) fn objected(&self) -> usize {
        self.0.iter().filter(|round| round.objected).count()
    }

    /// A row of the table. `measure`: the rounds of the generator that the ratio is taken to.
    pub(super) fn row(&self, name: &str, measure: &Rounds, seconds: u32) -> String {
        let cpu = Spread::of(self.0.iter().map(|round| round.cpu_us));
        let ratio = Spread::of(self.0.iter().zip(&measure.0).map(|(own, measure)| own.cpu_us / measure.cpu_us));
        let user = Spread::of(self.0.iter().map(|round| round.user_us));
        let rate = Spread::of(self.0.iter().map(|round| round.requests / f64::from(seconds)));
        let memory = Spread::of(self.0.iter().map(|round| round.memory_peak_bytes / 1e6));
        format!(
            "| {name} | {:.2} µs ({:.2}–{:.2}) | {:.2} µs | {:.2} ({:.2}–{:.2}) | {:.0} | {:.0} MB |\n",
            cpu.median, cpu.low, cpu.high, user.median, ratio.median, ratio.low, ratio.high, rate.median, memory.median
        )
    }
}

/// Median and range of a few numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    low: f64,
    high: f64,
}

impl Spread {
    /// Of nothing: all NaN, which shows.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let last = values.len().saturating_sub(1);
        Self { median: f64::midpoint(at(last / 2), at(last.div_ceil(2))), low: at(0), high: at(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(Spread::of([4.0, 1.0, 3.0, 2.0].into_iter()), Spread { median: 2.5, low: 1.0, high: 4.0 });
        assert_eq!(Spread::of([9.0, 1.0, 3.0].into_iter()), Spread { median: 3.0, low: 1.0, high: 9.0 });
    }

    #[test]
    fn usage_is_the_childs_own() {
        let idle = run_and_measure(Command::new("sleep").arg("0.05")).unwrap();
        let busy = run_and_measure(Command::new("sh").args(["-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"])).unwrap();
        assert!(busy.user_us + busy.system_us > 4.0 * (idle.user_us + idle.system_us));
        assert!(idle.memory_peak_bytes > 100_000.0);
    }

    #[test]
    fn a_generator_that_fails_is_no_measurement() {
        assert!(run_and_measure(&mut Command::new("false")).is_err());
    }
}
