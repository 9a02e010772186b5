//! Why something did not work, sorted for counting and worded for people.

use loadstone_metrics::Outcome;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub outcome: Outcome,
    /// For people, without addresses and numbers that differ from case to case.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: message.into() }
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(Outcome::Protocol, message)
    }

    /// `doing` completes "timed out …", for example `waiting for the response`.
    pub(crate) fn timeout(doing: &str) -> Self {
        Self::new(Outcome::Timeout, format!("timed out {doing}"))
    }
}
