//! Progress of an experiment, on standard error.

use std::io::{IsTerminal, Write};

use crate::prose;
use loadstone_analysis::{KnobContrast, KnobTrial, NextBlock};
use loadstone_metrics::{Nanos, clock::Monotonic};
use loadstone_session::{RunEvent, RunRequests, Subscriber, SubscriberError};

/// Ignores errors: an experiment does not depend on its terminal.
pub(super) struct ExperimentProgress {
    quiet: bool,
    /// A terminal redraws one line. A pipe gets a line per round only.
    redraws: bool,
    block_seconds: u64,
    /// The current activity, before the seconds.
    now: String,
    left: Option<TimeLeft>,
    clock: Monotonic,
}

/// Estimated duration of the remaining rounds, as of the end of a round.
#[derive(Clone, Copy)]
struct TimeLeft {
    /// "about" or "at most".
    how: &'static str,
    seconds: f64,
    estimated_at: Nanos,
}

impl TimeLeft {
    /// Shown in parentheses, and omitted once the estimate has passed.
    fn at(self, now: Nanos) -> String {
        let seconds = self.seconds - now.saturating_sub(self.estimated_at) as f64 / 1e9;
        if seconds > 0.0 { format!("  ({} {} left)", self.how, rough(seconds)) } else { String::new() }
    }
}

impl ExperimentProgress {
    pub(super) fn new(quiet: bool, block_seconds: u64) -> Self {
        let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let redraws = std::io::stderr().is_terminal() && !ci && !quiet;
        Self { quiet, redraws, block_seconds, now: String::new(), left: None, clock: Monotonic::start() }
    }

    pub(super) fn line(&mut self, text: &str) {
        if !self.quiet {
            self.erase();
            prose::line(text);
        }
    }

    /// A block is about to start.
    pub(super) fn block(&mut self, next: NextBlock, (knob, label): (&str, &str)) {
        self.now = format!("round {}  {knob} {label}", next.round + 1);
        self.draw("turning");
    }

    /// A round has ended. `round_seconds`: average duration of a round so far, including the knob changes.
    pub(super) fn round(&mut self, round: usize, contrasts: &[KnobContrast], trial: &KnobTrial, round_seconds: f64) {
        let left = trial.rounds_left() as f64 * round_seconds;
        // One round does not show the variation between rounds, so the estimate is the maximum number of rounds.
        let how = if round < 2 { "at most" } else { "about" };
        self.left = Some(TimeLeft { how, seconds: left, estimated_at: self.clock.now() });
        let parts: Vec<String> =
            contrasts.iter().map(|contrast| format!("{} → {}: {}", contrast.from, contrast.to, contrast.headline)).collect();
        self.line(&format!("round {round}  {}{}", parts.join("; "), self.left()));
    }

    fn left(&self) -> String {
        self.left.map_or_else(String::new, |left| left.at(self.clock.now()))
    }

    pub(super) fn erase(&self) {
        if self.redraws {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    fn draw(&self, what: &str) {
        if self.redraws {
            // A line that wraps could not be erased.
            let line: String = format!("{}  {what}{}", self.now, self.left()).chars().take(prose::style().width - 1).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
        }
    }
}

/// Rounded to ten seconds, because the estimate is not more precise.
pub(super) fn rough(seconds: f64) -> String {
    loadstone_units::duration::format((seconds / 10.0).ceil() as u64 * 10_000_000_000)
}

impl Subscriber for ExperimentProgress {
    fn take(&mut self, event: &RunEvent<'_>, _requests: &mut RunRequests) -> Result<(), SubscriberError> {
        match event {
            RunEvent::ConsoleLine(text) => {
                let text = (*text).to_owned();
                self.line(&text);
            }
            RunEvent::Snapshot { snapshot, .. } => {
                let second = (snapshot.end / 1_000_000_000).min(self.block_seconds);
                self.draw(&format!("{second} of {} s", self.block_seconds));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TimeLeft;

    #[test]
    fn the_remaining_time_shrinks_within_a_round_and_ends() {
        let left = TimeLeft { how: "about", seconds: 50.0, estimated_at: 7_000_000_000 };
        let lines = [7, 28, 56, 57, 60].map(|second| left.at(second * 1_000_000_000));
        assert_eq!(lines, ["  (about 50s left)", "  (about 30s left)", "  (about 10s left)", "", ""]);
    }
}
