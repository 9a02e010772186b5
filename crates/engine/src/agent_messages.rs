//! What a controller and its agents tell each other of the load: the same as a coordinator and its workers, without what only threads of one
//! process can share.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

/// What a controller tells its agents.
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
    /// Start nothing from this instant on, until a later one is told.
    Lease { until: Nanos },
    /// The part of an agent that was lost is made by those that are left, from an instant on; all of the load, or only what is done once, before and
    /// after it.
    HandOver { lost: u32, left: Vec<u32>, from: Nanos, is_of_load: bool },
    /// Hand over what is left and end.
    Finish,
}

/// What an agent tells its controller.
#[derive(Debug)]
pub enum AgentReport {
    /// Its workers have made what their users need, and wait for the start.
    Ready,
    /// One second of all its workers together.
    Snapshot(Box<Snapshot>),
    /// `threw`: an iteration of it was broken off by an error of its own.
    LeafEnded { leaf: u32, threw: bool },
    /// It has ended; its last snapshot came before.
    Done,
    /// It could not go on. Why.
    Broke(String),
    /// Nothing more will come from it. Why. `started_before`: it starts nothing from this instant on, and its part is to be made by the others;
    /// `None`: its part is to be left out.
    Lost { why: String, started_before: Option<Nanos> },
}
