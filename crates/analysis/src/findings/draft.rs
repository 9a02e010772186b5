//! A finding in the making, with what its place among the others depends on.

use crate::{Confidence, Evidence, Finding};

/// What a finding is to the others; the first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Why the system cannot do more, while more was asked of it all along.
    Cause,
    /// What is wrong, though the system carries the load.
    Fault,
    /// What limited the system for a while, and then no longer.
    Passing,
    /// What follows from a cause.
    Consequence,
}

/// A finding and its standing.
pub(crate) struct Draft {
    pub(crate) standing: Standing,
    pub(crate) finding: Finding,
    /// It rests on waits that are far longer than the generator was late.
    pub(crate) dwarfs_generator: bool,
}

impl Draft {
    pub(crate) fn new(standing: Standing, rule: &str, confidence: Confidence, claim: String) -> Self {
        let finding =
            Finding { rule: rule.to_owned(), claim, confidence, evidence: Vec::new(), alternatives: Vec::new(), next: String::new() };
        Self { standing, finding, dwarfs_generator: false }
    }

    /// What it rests on: a sentence, the columns or signals that show it, and the stretch in seconds.
    pub(crate) fn rests_on(mut self, text: String, series: Vec<String>, (from, to): (f64, f64)) -> Self {
        self.finding.evidence.push(Evidence { text, series, from_seconds: from, to_seconds: to });
        self
    }

    /// What else was considered.
    pub(crate) fn or(mut self, alternative: impl Into<String>) -> Self {
        self.finding.alternatives.push(alternative.into());
        self
    }

    pub(crate) fn try_next(mut self, next: impl Into<String>) -> Self {
        self.finding.next = next.into();
        self
    }
}
