//! The result of the binary: exit code, output, and the run it wrote.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use serde_json::Value;

pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The newest run directory. It is deleted with its [`super::Folder`].
    pub(crate) run: Option<PathBuf>,
    /// Its summary.json, read when the binary ended.
    pub(crate) summary: Option<String>,
    /// Number of checks in the scenario's source, each of which must be reached.
    pub(crate) checks_written: usize,
}

/// The first of up to five runs with a valid or suspect measurement, else the last. For timing behaviour, which cannot be observed while the machine is
/// overloaded.
pub(crate) fn fairly(run: impl Fn() -> Ended) -> Ended {
    let is_invalid = |ended: &Ended| ended.status.code() == Some(4);
    (0..4).map(|_| run()).find(|ended| !is_invalid(ended)).unwrap_or_else(run)
}

impl Ended {
    /// Fails the test unless the exit code is this one.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.everything());
        self
    }

    /// The run completed and every threshold passed.
    #[track_caller]
    pub(crate) fn passes(self) -> Self {
        self.concludes(0, false)
    }

    /// The run completed and a threshold failed.
    #[track_caller]
    pub(crate) fn fails_a_threshold(self) -> Self {
        self.concludes(3, true)
    }

    /// On a busy machine, the tool may correctly report an invalid measurement. That has a separate exit code, which takes precedence over thresholds. Then
    /// summary.json must show it, and only the thresholds are judged.
    #[track_caller]
    fn concludes(self, code: i32, threshold_failed: bool) -> Self {
        let summary = self.summary();
        let thresholds = summary["verdict"]["thresholds"].as_array().expect("a list of thresholds");
        let failed = thresholds.iter().any(|result| result["state"] != "passed");
        assert_eq!(failed, threshold_failed, "{}", self.everything());
        let undecided = thresholds.iter().any(|result| result["state"] == "undecided");
        let invalid = summary["verdict"]["validity"]["grade"] == "invalid" || undecided;
        self.code(if invalid { 4 } else { code })
    }

    /// Fails the test unless standard output or standard error contains the string.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "it does not say `{text}`\n{}", self.everything());
        self
    }

    #[track_caller]
    pub(crate) fn does_not_say(self, text: &str) -> Self {
        assert!(!self.stdout.contains(text) && !self.stderr.contains(text), "it says `{text}`\n{}", self.everything());
        self
    }

    /// Every check of the scenario was reached and passed, no request and no iteration failed, and the run passed.
    #[track_caller]
    pub(crate) fn all_checks_held(self) -> Self {
        let ended = self.passes();
        let summary = ended.summary();
        let checks = summary["checks"].as_array().expect("a list of checks");
        let failed: Vec<&Value> = checks.iter().filter(|check| check["failed"] != 0).collect();
        assert!(failed.is_empty(), "checks that failed: {failed:?}\n{}", ended.everything());
        assert_eq!(summary["errors"], Value::Array(Vec::new()), "{}", ended.everything());
        assert_eq!(checks.len(), ended.checks_written, "not every check was reached\n{}", ended.everything());
        assert!(!checks.is_empty(), "a test that checks nothing");
        ended
    }

    /// summary.json of the newest run.
    #[track_caller]
    pub(crate) fn summary(&self) -> Value {
        let Some(text) = &self.summary else { panic!("no summary.json in {:?}\n{}", self.run, self.everything()) };
        serde_json::from_str(text).unwrap_or_else(|error| panic!("summary.json of {:?}: {error}\n{text}", self.run))
    }

    /// Number of requests with an outcome, by its name in summary.json (`refused`, `timeout`, …).
    #[track_caller]
    pub(crate) fn outcomes(&self, outcome: &str) -> u64 {
        let summary = self.summary();
        let rows = summary["requests"].as_array().expect("a list of requests");
        let pairs = rows.iter().flat_map(|row| row["outcomes"].as_array().expect("a list of outcomes"));
        pairs.filter(|pair| pair[0] == outcome).map(|pair| pair[1].as_u64().expect("a count")).sum()
    }

    /// Messages of all errors of the run, one per line.
    #[track_caller]
    pub(crate) fn errors(&self) -> String {
        let summary = self.summary();
        let rows = summary["errors"].as_array().expect("a list of errors");
        rows.iter().filter_map(|row| row["message"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Script output after the word `row`, in order.
    pub(crate) fn printed(&self) -> Vec<String> {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.filter_map(|line| Some(line.split_once("row ")?.1.trim().to_owned())).collect()
    }

    /// All output, for failure messages.
    pub(crate) fn everything(&self) -> String {
        let mut text = format!("ended with {}\n── stdout\n{}\n── stderr\n{}\n", self.status, self.stdout, self.stderr);
        if let Some(summary) = &self.summary {
            // Formatting into a string cannot fail.
            let _ok = write!(text, "── summary.json\n{}\n", summary.chars().take(6000).collect::<String>());
        }
        text
    }
}
