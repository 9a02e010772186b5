//! What else could be the cause. Set aside means looked at: an alternative is ruled out by evidence, or it is said not to be, and then the finding is
//! not made with high confidence.

use super::ranked::RankedFinding;
use crate::Confidence;

/// Another cause, as a noun phrase, and what speaks against it. Both are sentences without their full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alternative {
    RuledOut { other: String, by: String },
    NotRuledOut { other: String, since: String },
}

impl Alternative {
    pub(super) fn ruled_out(other: impl Into<String>, by: impl Into<String>) -> Self {
        Alternative::RuledOut { other: other.into(), by: by.into() }
    }

    pub(super) fn not_ruled_out(other: impl Into<String>, since: impl Into<String>) -> Self {
        Alternative::NotRuledOut { other: other.into(), since: since.into() }
    }

    pub(super) fn is_ruled_out(&self) -> bool {
        matches!(self, Alternative::RuledOut { .. })
    }
}

/// As a finding lists it.
impl From<Alternative> for String {
    fn from(alternative: Alternative) -> Self {
        match alternative {
            Alternative::RuledOut { other, by } => format!("{other}. Ruled out: {by}."),
            Alternative::NotRuledOut { other, since } => format!("{other}. Not ruled out: {since}."),
        }
    }
}

impl RankedFinding {
    /// Weighs another cause: one that is not ruled out leaves no high confidence. There is no other way to list one.
    pub(super) fn weigh(mut self, alternative: Alternative) -> Self {
        if !alternative.is_ruled_out() {
            self.finding.confidence = self.finding.confidence.min(Confidence::Medium);
        }
        self.finding.alternatives.push(alternative.into());
        self
    }
}
