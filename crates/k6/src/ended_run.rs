//! A run that has ended, and the files that a script derives from it.

use loadstone_metrics::{Nanos, Snapshot};

/// What is known after a run.
#[derive(Debug)]
pub struct EndedRun<'r> {
    pub slices: &'r [Snapshot],
    /// Label and result of each threshold of the plan.
    pub thresholds: Vec<(&'r str, bool)>,
    pub duration_ns: Nanos,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
}

/// A file that `handleSummary` returned. The destinations `stdout` and `stderr` name the streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryFile {
    pub destination: String,
    pub content: Vec<u8>,
}
