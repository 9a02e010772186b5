//! Makes load happen when it was asked for: arrivals, users, one worker per core.
//!
//! Read [`VirtualUser`] and [`Crew`] first: they are all the engine knows of languages and protocols. Then [`Conductor`]
//! (walks the load tree), `worker` (one thread), `open` and `closed` (the two kinds of load), `arrivals` and `level` (when,
//! as pure functions). Deliberately absent: HTTP, scripts, files, verdicts.

mod arrivals;
mod cgroup;
mod closed;
mod conductor;
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
pub use conductor::{Conductor, Control, Controller, Ending, Event, StopReason, Tables};
pub use floor::WorkerContext;
pub use level::{Level, Reading};
pub use user::{Arrival, Crew, Iteration, IterationEnd, VirtualUser};
