//! Generates load on schedule: arrivals, virtual users, one worker per core.
//!
//! Read [`VirtualUser`] and [`UserFactory`] first: they are all the engine knows of languages and protocols. Then:
//!
//! - [`Coordinator`] starts the workers' threads. `active_load` walks the load tree over them, `assembly` merges their snapshots.
//! - On an agent of a fleet, [`AgentWorkers`] replaces the coordinator, which leads the agents remotely (`agent_messages`).
//! - `worker` is one thread, driven by `event_loop` in `turns`. `messages` has the messages between it and the coordinator.
//! - `active_leaf` is one leaf of the tree on one worker. `open` and `closed` dispatch its iterations, and `exchange` lets the workers of an open
//!   leaf share its maximum of users.
//! - `user_growth` decides when an open leaf may create users; `pace` measures whether its backlog drains.
//! - `arrivals`, `level` and `stages` compute what is due when, as pure functions. `handover` computes who takes over the load of a lost agent.
//! - `worker_lease` holds the worker's lease, its handovers, and whether it records events for all workers.
//! - `host` and `descriptors` are about the machine underneath.
//!
//! Deliberately absent: HTTP, scripts, files, verdicts.

mod active_leaf;
mod active_load;
mod agent_messages;
mod agent_workers;
mod arrivals;
mod assembly;
mod closed;
mod context;
mod control;
mod coordinator;
mod descriptors;
mod event_loop;
mod exchange;
mod failure;
mod handover;
mod host;
mod level;
mod liveness;
mod messages;
mod open;
mod pace;
mod series_bound;
mod snapshots;
mod stages;
mod stepped_load;
mod tasks;
mod threads;
mod tree;
mod turns;
mod user;
mod user_growth;
mod wakeup;
mod worker;
mod worker_lease;

pub use agent_messages::{AgentCommand, AgentReport};
pub use agent_workers::{AgentCommands, AgentWorkers, IterationsOfLeaf};
pub use arrivals::{ArrivalShare, Arrivals, Due};
pub use context::{WorkerContext, WorkerShare};
pub use control::{LoadControl, LoadEnding, LoadEvent, StopReason, WorkerError};
pub use coordinator::{Coordinator, LoadControls};
pub use descriptors::DescriptorTables;
pub use handover::Handover;
pub use level::{LevelReading, UserLevel};
pub use messages::{LoadHandle, SharedIterations};
pub use stepped_load::SteppedLoad;
pub use user::{Arrival, Iteration, IterationEnd, UserError, UserFactory, VirtualUser};
