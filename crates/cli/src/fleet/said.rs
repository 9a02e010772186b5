//! What an agent's test says to its host, beside what it measures.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentSaid {
    /// To [`loadstone_script::CommonData::take`].
    Common(String),
    /// The test does what cannot be meant: the run is to end as failed. Why.
    Misuse(String),
}

impl AgentSaid {
    pub(super) fn to_text(&self) -> String {
        // Cannot fail: it is text alone.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None`: it is not what an agent of this version says.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
