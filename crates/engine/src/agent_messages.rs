//! Messages between a controller and its agents. They match those between a coordinator and its workers, without what only threads of one process can
//! share.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

/// A command from a controller to its agents.
#[derive(Debug, Clone)]
pub enum AgentCommand {
    /// All agents are ready: the run's time begins.
    Start { zero: Monotonic },
    /// Start a leaf at an instant.
    Begin { leaf: u32, at: Nanos },
    /// Start no more iterations; let the running ones finish within their graceful stop.
    Stop,
    /// Interrupt all iterations.
    Halt,
    /// Scale the load relative to the plan, from an instant on.
    Scale { at: Nanos, factor: f64 },
    /// Start no iteration from this instant on, until another lease extends it.
    Lease { until: Nanos },
    /// The remaining agents take over the share of a lost agent from an instant on. `is_of_load`: they take over its load, and not only the work that
    /// is done once, before and after it.
    HandOver { lost: u32, left: Vec<u32>, from: Nanos, is_of_load: bool },
    /// Send the remaining snapshots, and end.
    Finish,
}

/// A report from an agent to its controller.
#[derive(Debug)]
pub enum AgentReport {
    /// The workers have prepared for their users and wait for the start.
    Ready,
    /// One second of all workers of this agent, merged.
    Snapshot(Box<Snapshot>),
    /// `threw`: an iteration of the leaf ended with an error that its script did not handle.
    LeafEnded { leaf: u32, threw: bool },
    /// The agent has ended. Its last snapshot was sent before this report.
    Done,
    /// The agent cannot continue. The string is the reason.
    Broke(String),
    /// The agent will send nothing more, for the reason `why`. `started_before`: it starts no iteration from this instant on, and the other agents
    /// take over its share. `None`: nobody takes over its share.
    Lost { why: String, started_before: Option<Nanos> },
}
