//! The description of an agent, as the agent sends it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An agent, and its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFacts {
    /// The name for users.
    pub name: String,
    pub hostname: String,
    pub cores: u32,
    /// Threads that generate load.
    pub workers: u32,
    /// Labels set by the user, such as the region.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The run whose seconds it keeps because the controller may not have written them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
}

impl AgentFacts {
    /// Its name and labels: `east (region=eu)`.
    pub fn shown(&self) -> String {
        let labels: Vec<String> = self.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        if labels.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, labels.join(", ")) }
    }
}
