//! The subjects of packets on the bus.

/// From agents without a run to controllers that look for agents.
pub(crate) const ANNOUNCE: &str = "loadstone.announce";

/// To one agent.
pub(crate) fn agent(id: &str) -> String {
    format!("loadstone.agent.{id}")
}

/// To the controller of a run.
pub(crate) fn run(id: &str) -> String {
    format!("loadstone.run.{id}")
}

/// A packet to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub subject: String,
    pub bytes: Vec<u8>,
}
