//! What an agent is, as it says itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An agent, and the machine that it is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// As people know it.
    pub name: String,
    pub hostname: String,
    pub cores: u32,
    /// Threads that make load.
    pub workers: u32,
    /// What it says of itself, such as its region.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The run of which it keeps seconds that its controller may not have written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
}

impl AgentFacts {
    /// Its name, and what it says of itself: `east (region=eu)`.
    pub fn shown(&self) -> String {
        let labels: Vec<String> = self.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        if labels.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, labels.join(", ")) }
    }
}
