//! Flows: asynchronous journeys that a test follows.

use serde::{Deserialize, Serialize};

/// A journey that starts in one place and finishes in another, correlated by a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowSpec {
    pub name: String,
    /// A journey that takes longer is lost. Nanoseconds. `None`: a journey may take until the end of the run.
    pub timeout_ns: Option<u64>,
    /// How long the run continues after its load while journeys of this flow are open. Nanoseconds.
    pub drain_ns: u64,
    /// Stages in the order in which journeys pass them.
    #[serde(default)]
    pub stages: Vec<String>,
}

impl FlowSpec {
    pub const STAGES_MAX: usize = 32;
    /// Time to drain when the test sets none.
    pub const DEFAULT_DRAIN_NS: u64 = 60_000_000_000;
}
