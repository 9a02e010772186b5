//! What a turn of a generator cost, and the arithmetic over rounds.

use std::fmt;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::usage::{self, ResourceUsage};

/// Exit codes after which there is a measurement: done, and Loadstone's "the measurement is invalid". CPU time per request does not
/// depend on whether the generator got all the time it wanted.
pub(super) const MEASURED: [i32; 2] = [0, 4];

/// Runs a generator to its end, without its words.
pub(super) fn run_and_measure(command: &mut Command) -> Result<ResourceUsage> {
    usage::run(command.stdout(Stdio::null()).stderr(Stdio::null()), &MEASURED)
}

/// One turn of one generator.
#[derive(Clone, Copy)]
pub(super) struct TurnCost {
    /// User and system time for each request. Microseconds.
    pub(super) cpu_us: f64,
    user_us: f64,
    requests: f64,
    memory_peak_bytes: f64,
    /// It called its own measurement invalid.
    objected: bool,
}

impl TurnCost {
    pub(super) fn of(usage: &ResourceUsage, requests: u64) -> Self {
        let requests = requests as f64;
        Self {
            cpu_us: usage.cpu_seconds() * 1e6 / requests,
            user_us: usage.user_seconds * 1e6 / requests,
            requests,
            memory_peak_bytes: usage.memory_peak_bytes,
            objected: usage.exit_code != 0,
        }
    }
}

/// All turns of one generator.
#[derive(Default)]
pub(super) struct Rounds(Vec<TurnCost>);

impl Rounds {
    pub(super) fn push(&mut self, measured: TurnCost) {
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
            "| {name} | {:.2} µs ({:.2}–{:.2}) | {:.2} µs | {ratio} | {:.0} | {:.0} MB |\n",
            cpu.median, cpu.low, cpu.high, user.median, rate.median, memory.median
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

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.low, self.high)
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
}
