//! What an agent's test reports to its host in addition to its measurements.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HostMessage {
    /// Input of [`loadstone_script::CommonData::take`].
    Common(String),
    /// A contradiction in the test: the run must end as failed, for this reason.
    Misuse(String),
    /// The result of a k6 script's `setup`, as JSON.
    K6SetUp(String),
    /// Input of [`loadstone_k6::K6Test::receive_totals`].
    K6Totals(String),
    /// A k6 script called `exec.test.abort()` with this message.
    K6Aborted(String),
}

impl HostMessage {
    pub(super) fn to_text(&self) -> String {
        // Cannot fail: the message has only strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` if it is not a message of this version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
