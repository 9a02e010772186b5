//! Makes load happen when it was asked for: arrivals, users, one worker per core.
//!
//! Read [`VirtualUser`] and [`UserFactory`] first: they are all the engine knows of languages and protocols. Then [`Coordinator`]
//! (walks the load tree), `worker` (one thread), `open` and `closed` (the two kinds of load), `arrivals` and `level` (when,
//! as pure functions). Deliberately absent: HTTP, scripts, files, verdicts.

mod arrivals;
mod cgroup;
mod closed;
mod coordinator;
mod descriptors;
mod floor;
mod host;
mod level;
mod names;
mod open;
mod promptness;
mod stages;
mod tasks;
mod tree;
mod turns;
mod user;
mod worker;

pub use arrivals::{Arrivals, Due, Share};
pub use coordinator::{Control, Controller, Coordinator, Ending, Event, StopReason, Tables};
pub use floor::WorkerContext;
pub use level::{Level, Reading};
pub use user::{Arrival, Iteration, IterationEnd, UserFactory, VirtualUser};
