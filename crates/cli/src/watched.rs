//! Reports the progress of an experiment or a search to the program that started it. Read [`WorkProgress`].

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

/// One report, a line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct WorkProgress {
    /// The current activity: `round 3: pool 8`.
    pub(crate) text: String,
    /// Estimated share of the whole that is done.
    pub(crate) done: f64,
    /// Estimated remaining time.
    pub(crate) left_seconds: f64,
    /// Path of the current result, relative to the runs folder. `None`: there is none yet.
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WatchedArgs {
    /// Descriptor for progress reports to the parent program. When that program ends, this one stops as on Ctrl-C.
    #[arg(long, value_name = "FILE", hide = true)]
    progress_to: Option<PathBuf>,
}

/// Destination of the reports. Without a parent program there is none.
#[derive(Debug, Default)]
pub(crate) struct ProgressLines(Option<File>);

impl WatchedArgs {
    pub(crate) fn is_watched(&self) -> bool {
        self.progress_to.is_some()
    }

    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn lines(&self) -> std::io::Result<ProgressLines> {
        let open = |path: &PathBuf| OpenOptions::new().append(true).open(path);
        Ok(ProgressLines(self.progress_to.as_ref().map(open).transpose()?))
    }
}

impl ProgressLines {
    /// Ignores errors: the measurement does not depend on a reader.
    pub(crate) fn report(&mut self, progress: &WorkProgress) {
        if let (Some(file), Ok(line)) = (&mut self.0, serde_json::to_string(progress)) {
            let _ = writeln!(file, "{line}");
        }
    }
}

impl WorkProgress {
    /// `spent` and `left`: seconds.
    pub(crate) fn of(text: String, (spent, left): (f64, f64), answer: Option<&str>) -> Self {
        let whole = spent + left;
        Self { text, done: if whole > 0.0 { spent / whole } else { 0.0 }, left_seconds: left, answer: answer.map(str::to_owned) }
    }
    /// The same estimate this many seconds later.
    pub(crate) fn after(&self, seconds: f64) -> Self {
        // The work is only done once it reports so.
        let left_seconds = (self.left_seconds - seconds).max(1.0);
        let whole = self.left_seconds / (1.0 - self.done).max(1e-9);
        Self { done: if whole > 0.0 { (1.0 - left_seconds / whole).clamp(0.0, 1.0) } else { self.done }, left_seconds, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_advances_between_two_lines() {
        let progress = WorkProgress::of("Round 2".to_owned(), (30.0, 90.0), Some("experiments/x"));
        assert_eq!(progress.done, 0.25);
        let later = progress.after(30.0);
        assert_eq!((later.left_seconds, later.done), (60.0, 0.5));
        let late = progress.after(500.0);
        assert!(late.left_seconds == 1.0 && late.done < 1.0, "not over before it says so");
    }
}
