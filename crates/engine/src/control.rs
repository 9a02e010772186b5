//! Requests to a running load, the events it reports, and how it ends.
//!
//! These are plain values that cross threads; `messages` has the channels. Deliberately absent: messages between workers and the coordinator, which
//! only the engine sees.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

use crate::user::UserError;

/// A request to a running load.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadControl {
    /// Start no further iteration. Running ones may finish.
    Stop(StopReason),
    /// End now; running iterations are interrupted.
    Halt(StopReason),
    /// Multiply the planned load; 0 pauses it.
    Scale(f64),
    /// Stop waiting after the load: see [`Coordinator::lingering`](crate::Coordinator::lingering).
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The user requested it.
    User,
    /// A threshold with `abort` failed. The string is its label.
    Threshold(String),
    /// A set-up failed, so the load that depends on it cannot run. The string is its scenario.
    SetUp(String),
    /// The script refers to something that does not exist.
    Script(String),
    /// Something outside the load failed, for example a full disk.
    Failure(String),
}

/// An event of a run. Events arrive in order.
#[derive(Debug)]
pub enum LoadEvent {
    /// Every worker is ready and the run's time begins: all instants count from this zero. This event is not sent if a worker could not get ready.
    Ready {
        zero: Monotonic,
    },
    /// A leaf begins at this instant.
    LeafBegan {
        leaf: u32,
        at: Nanos,
    },
    LeafEnded {
        leaf: u32,
        at: Nanos,
    },
    /// All load has ended as planned, and the run continues until [`LoadControl::Release`]. Sent only if the coordinator lingers.
    LoadEnded {
        at: Nanos,
    },
    /// Time passes, but no second is complete: for load whose record arrives late.
    Waiting,
    /// One second of all workers, merged.
    Snapshot(Box<Snapshot>),
    /// The last second.
    LastSnapshot(Box<Snapshot>),
}

/// How the load ended.
#[derive(Debug)]
pub enum LoadEnding {
    Completed,
    Stopped(StopReason),
    /// A worker could not start, or failed.
    Broke(WorkerError),
}

/// Why a worker could not continue. It is always the generator's own failure: a failing target is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("cannot start {workers} workers: {source}")]
    Runtime { workers: u32, source: std::io::Error },
    #[error("cannot start worker {worker}: {source}")]
    Thread { worker: u32, source: std::io::Error },
    #[error("cannot create a separate file descriptor table for worker {worker}: {source}")]
    Descriptors { worker: u32, source: std::io::Error },
    #[error("cannot create the timer of worker {worker}: {source}")]
    Timer { worker: u32, source: std::io::Error },
    /// The user factory, or a further user, could not be created.
    #[error("{0}")]
    Users(UserError),
    /// An agent could not continue, or no agent is left.
    #[error("{0}")]
    Agent(String),
    #[error(
        "worker {worker} stopped responding and was abandoned: its measurements end there, and the tear-down did not run. Something in the test \
         or in a response blocks it"
    )]
    Blocked { worker: u32 },
    #[error("worker {worker} panicked ({message}): this is a bug in Loadstone")]
    Panicked { worker: u32, message: String },
}
