//! How the binary ended, what it wrote, and the run it left behind.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use serde_json::Value;

pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Where the newest run directory is, or was: it goes with its [`super::Folder`].
    pub(crate) run: Option<PathBuf>,
    /// Its summary.json, read when the binary ended.
    pub(crate) summary: Option<String>,
    /// How many checks stand in the scenario's source, each of which must have been reached.
    pub(crate) checks_written: usize,
}

/// The first of up to five runs that does not call its measurement invalid, else the last. For what depends on time, which does not show
/// while the machine is taken away.
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

    /// The run took place and every threshold held.
    #[track_caller]
    pub(crate) fn passes(self) -> Self {
        self.concludes(0, false)
    }

    /// The run took place and a threshold failed.
    #[track_caller]
    pub(crate) fn fails_a_threshold(self) -> Self {
        self.concludes(3, true)
    }

    /// On a machine that is busy with other tests an honest tool may call a measurement invalid, which has an exit code of
    /// its own and goes before thresholds; then summary.json must say so, and the thresholds are judged by it alone.
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

    /// Fails the test unless standard output or error contains the text.
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

    /// Every check of the scenario was reached and held, no request and no iteration failed, and the run passed.
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

    /// How many requests ended with an outcome, by its name in summary.json (`refused`, `timeout`, …).
    #[track_caller]
    pub(crate) fn outcomes(&self, outcome: &str) -> u64 {
        let summary = self.summary();
        let rows = summary["requests"].as_array().expect("a list of requests");
        let pairs = rows.iter().flat_map(|row| row["outcomes"].as_array().expect("a list of outcomes"));
        pairs.filter(|pair| pair[0] == outcome).map(|pair| pair[1].as_u64().expect("a count")).sum()
    }

    /// Messages of all errors of the run, one on each line.
    #[track_caller]
    pub(crate) fn errors(&self) -> String {
        let summary = self.summary();
        let rows = summary["errors"].as_array().expect("a list of errors");
        rows.iter().filter_map(|row| row["message"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// What scripts wrote behind the word `row`, in order.
    pub(crate) fn printed(&self) -> Vec<String> {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.filter_map(|line| Some(line.split_once("row ")?.1.trim().to_owned())).collect()
    }

    /// For a failing test: all there is to see.
    pub(crate) fn everything(&self) -> String {
        let mut text = format!("ended with {}\n── stdout\n{}\n── stderr\n{}\n", self.status, self.stdout, self.stderr);
        if let Some(summary) = &self.summary {
            // Formatting into a string cannot fail.
            let _ok = write!(text, "── summary.json\n{}\n", summary.chars().take(6000).collect::<String>());
        }
        text
    }
}
