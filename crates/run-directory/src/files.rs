//! The files of a run directory.

/// Version of the format that this build writes; it reads this one and older ones. docs/run-directory.md lists the changes of each.
pub const FORMAT: u32 = 2;

/// [`crate::RunInfo`] and the plan with secrets masked. Written before the load starts.
pub const RUN: &str = "run.json";
/// One [`loadstone_metrics::Snapshot`] per line and second, of the first hour. docs/run-directory.md describes the files of later ones.
pub const SNAPSHOTS: &str = "snapshots.jsonl";
pub(crate) const SNAPSHOT_STEM: &str = "snapshots";
/// Observer series: a line that defines each, and lines with its points. Of the first hour.
pub const SIGNALS: &str = "signals.jsonl";
pub(crate) const SIGNAL_STEM: &str = "signals";
/// The traces of requests, if they were observed: a line that defines each path, and lines with counts and retained traces.
pub const TRACES: &str = "traces.jsonl";
/// [`crate::RunEnd`]; absent while running and after a kill.
pub const END: &str = "end.json";
/// Console output of scripts and of Loadstone, as text.
pub const CONSOLE: &str = "console.log";

/// [`crate::Notes`]: people's remarks about the run. Only this file and [`PROOFS`] change after a run is over.
pub const NOTES: &str = "notes.json";

/// Results of later experiments about the run's findings.
pub const PROOFS: &str = "proofs.json";

/// Concluded, can be deleted and rebuilt: the numbers and verdicts.
pub const SUMMARY: &str = "summary.json";
/// Concluded, can be deleted and rebuilt: the page.
pub const REPORT: &str = "report.html";
/// Concluded, can be deleted and rebuilt: thresholds as test cases.
pub const JUNIT: &str = "junit.xml";
/// Concluded, can be deleted and rebuilt: the summary for a pull request.
pub const MARKDOWN: &str = "summary.md";

/// The state of a capacity search, from which it resumes. It lies in a separate folder next to the runs of the search.
pub const CAPACITY: &str = "capacity.json";
