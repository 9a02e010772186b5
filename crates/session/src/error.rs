//! Why a run did not come about, or did not come to its end.

use loadstone_run_directory::RunError;

use crate::descriptor_room::RoomError;
use crate::event::SubscriberError;
use crate::rate_room::RateError;
use crate::reach::Unreachable;

/// Messages may quote secrets of the plan.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nothing was loaded: the plan needs more connections than this process may open.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// Nothing was loaded: the plan asks for more arrivals than any worker can start.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// Nothing was loaded.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// Nothing was loaded: the run directory cannot be made.
    #[error(transparent)]
    Directory(#[from] RunError),
    /// Nothing was loaded.
    #[error("cannot start the observers: {0}")]
    Observers(#[source] loadstone_observe::ObserveError),
    /// At the start, nothing was loaded; later, the run was halted.
    #[error("{0}")]
    Subscriber(#[source] SubscriberError),
    /// What makes the users failed: the test's own file threw. What was measured until then is kept.
    #[error("{0}")]
    Users(String),
    /// A worker could not start, or broke.
    #[error("{0}")]
    Worker(String),
}
