//! What may be asked of a load under way, what it reports, and how it ends.
//!
//! Plain values that cross threads; `messages` says how they travel. Deliberately absent: what the workers and the coordinator tell
//! each other, which nobody outside the engine sees.

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Snapshot};

use crate::user::UserError;

/// What someone asks of a load under way.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadControl {
    /// No more iterations; the running ones may finish.
    Stop(StopReason),
    /// End now; running iterations are interrupted.
    Halt(StopReason),
    /// Multiply the planned load; 0 pauses it.
    Scale(f64),
    /// Stop waiting after the load, see [`Coordinator::lingering`](crate::Coordinator::lingering).
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The user asked for it.
    User,
    /// A threshold with abort failed; its label.
    Threshold(String),
    /// A set-up failed, so what it prepares cannot run; its scenario.
    SetUp(String),
    /// The script asks for what does not exist.
    Script(String),
    /// Something outside the load broke (disk full, …).
    Failure(String),
}

/// What happens in a run, in order.
#[derive(Debug)]
pub enum LoadEvent {
    /// Every worker is ready and the run's time begins: all instants count from this zero. Does not come where a worker could not be made ready.
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
    /// All load has ended as planned, and the run goes on until [`LoadControl::Release`]; only where the coordinator lingers.
    LoadEnded {
        at: Nanos,
    },
    /// One second of all workers together.
    Snapshot(Box<Snapshot>),
    /// The last one.
    LastSnapshot(Box<Snapshot>),
}

/// How the load came to its end.
#[derive(Debug)]
pub enum LoadEnding {
    Completed,
    Stopped(StopReason),
    /// A worker could not start, or broke.
    Broke(WorkerError),
}

/// Why a worker could not go on. Always the generator's own failure: a failing target is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("cannot start {workers} workers: {source}")]
    Runtime { workers: u32, source: std::io::Error },
    #[error("cannot start worker {worker}: {source}")]
    Thread { worker: u32, source: std::io::Error },
    #[error("cannot give worker {worker} a file descriptor table of its own: {source}")]
    Descriptors { worker: u32, source: std::io::Error },
    #[error("cannot create the timer of worker {worker}: {source}")]
    Timer { worker: u32, source: std::io::Error },
    /// What supplies the virtual users, or a further one of them, could not be made.
    #[error("{0}")]
    Users(UserError),
    /// An agent could not go on, or no agent is left.
    #[error("{0}")]
    Agent(String),
    #[error("worker {worker} panicked ({message}): this is a bug in Loadstone")]
    Panicked { worker: u32, message: String },
}
