//! Where packets go on the bus.

/// Agents without a run, to whoever looks for some.
pub(crate) const ANNOUNCE: &str = "loadstone.announce";

/// To one agent.
pub(crate) fn agent(id: &str) -> String {
    format!("loadstone.agent.{id}")
}

/// To the controller of a run.
pub(crate) fn run(id: &str) -> String {
    format!("loadstone.run.{id}")
}

/// A packet to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub subject: String,
    pub bytes: Vec<u8>,
}
