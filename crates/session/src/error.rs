//! Why a run did not start, or ended with an error.

use loadstone_run_directory::RunError;

use crate::descriptor_room::RoomError;
use crate::event::SubscriberError;
use crate::rate_room::RateError;
use crate::reach::Unreachable;

/// Messages may contain secrets of the plan.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No load was sent: the plan needs more connections than this process may open.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// No load was sent: the plan requests more arrivals than any worker can start.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// No load was sent.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// No load was sent: the run directory cannot be created.
    #[error(transparent)]
    Directory(#[from] RunError),
    /// No load was sent.
    #[error("cannot start the observers: {0}")]
    Observers(#[source] loadstone_observe::ObserveError),
    /// At the start: no load was sent. Later: the run was halted.
    #[error("{0}")]
    Subscriber(#[source] SubscriberError),
    /// The user factory failed: the test file threw. Measurements until then are stored.
    #[error("{0}")]
    Users(String),
    /// A worker could not start, or failed.
    #[error("{0}")]
    Worker(String),
}
