//! Load that another tool generates: what its record shows, and what it lacks.

use serde::{Deserialize, Serialize};

/// The record of another tool from which a run takes its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLoad {
    /// The tool, as users name it: `k6`, `JMeter`, `an access log`.
    pub tool: String,
    /// The format of the record.
    pub format: String,
    /// The command that was started, with secrets masked. Empty: only a file was followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The smallest difference of times that the record can show. Nanoseconds.
    pub resolution_ns: u64,
    /// Whether the record shows when each request was due.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub knows_schedule: bool,
    /// The requests that the tool is to send until its end, by its arguments. `None`: unknown, or it has no planned end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_requests: Option<u64>,
    /// What the record does not contain, in words: `the schedule`, `connection phases`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}
