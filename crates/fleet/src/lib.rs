//! One test over many machines: a controller leads agents over a bus, and what they measure becomes one run.
//!
//! Read [`Controller`] and [`Agent`] first. Both are plain state: packets in, packets out, with the time as an argument, so that simulations
//! have hundreds of them on virtual time. Then:
//!
//! - `link` carries messages once and in order over a bus that may lose, double and reorder; `packet` and `message` are what travels.
//! - `offset` compares clocks, `leases` divides numbers of rows and iterations (an agent's part: `numbers`), `share` the load by labels.
//! - [`Bus`] is the way between them; [`NatsBus`] is the real one. `lead` and `serve` are the threads on its two ends.
//!
//! Deliberately absent: what a test is and how it makes requests, the load tree, and what becomes of snapshots. The first is given by whoever
//! starts an agent, the others are the engine's and the session's, which see agents as they see workers.

mod agent;
mod bus;
mod collect;
mod controller;
mod facts;
mod kept;
mod lead;
mod leases;
mod link;
mod message;
mod nats;
mod numbers;
mod offset;
mod packet;
mod serve;
mod share;
mod subjects;

pub use agent::{Agent, AgentTask, LEASE_NS, SILENCE_MAX_NS};
pub use bus::{Bus, BusError, Participant, exchange};
pub use collect::{CollectedSeconds, Collector, KeptError, collect};
pub use controller::{Controller, FleetNews};
pub use facts::AgentFacts;
pub use lead::{AgentPost, GatherError, GatheredFleet, LedFleet, LossPolicy, TestHost, WrittenSeconds};
pub use message::Assignment;
pub use nats::{NatsBus, NatsServer, without_password};
pub use numbers::{HeldNumbers, LentHere, NumberRequest, NumberSource, TakenNumber};
pub use packet::version;
pub use serve::{AgentLink, AgentNumbers, EndRequest, HostListeners, RunTest, serve};
pub use share::{LabelShare, ShareError, workers_by_share};
pub use subjects::Outgoing;
