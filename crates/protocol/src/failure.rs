//! Why an operation failed: an outcome for counting, and a message for users.

use loadstone_metrics::Outcome;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub outcome: Outcome,
    /// For users, without addresses and numbers that differ from case to case.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: message.into() }
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(Outcome::Protocol, message)
    }

    /// The generator refuses to send it. The message names the part that is invalid.
    pub(crate) fn unsendable(message: impl Into<String>) -> Self {
        Self::new(Outcome::Unsendable, message)
    }

    /// `doing` completes "timed out …", for example `waiting for the response`.
    pub(crate) fn timeout(doing: &str) -> Self {
        Self::new(Outcome::Timeout, format!("timed out {doing}"))
    }
}
