//! One test over many machines: a controller leads agents over a bus, and their measurements become one run.
//!
//! Read [`Controller`] and [`Agent`] first. Both are plain state: packets in, packets out, with the time as an argument. Simulations can therefore
//! run hundreds of them on virtual time. Then:
//!
//! - `link` delivers messages once and in order over a bus that may lose, duplicate and reorder; `packet` and `message` define what is sent.
//! - `offset` compares clocks, `leases` divides numbers of rows and iterations (an agent's part: `numbers`), `share` divides the load by labels.
//! - [`Bus`] is the transport; [`NatsBus`] is the real one. `signed_bus` authenticates its packets, with the keys of `keys`.
//! - `lead` and `serve` are the threads at the two ends of the bus.
//!
//! Deliberately absent: the test's content and its requests, the load tree, and the use of snapshots. The process that starts an agent supplies the
//! first. The engine and the session handle the others, and treat agents like workers.

mod agent;
mod bus;
mod collect;
mod controller;
mod facts;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod kept;
mod keys;
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
mod signed_bus;
mod subjects;

pub use agent::{Agent, AgentTask, LEASE_NS, SILENCE_MAX_NS};
pub use bus::{Bus, BusError, Participant, exchange};
pub use collect::{CollectedSeconds, Collector, KeptSecondsError, collect};
pub use controller::{Controller, FleetNews};
pub use facts::AgentFacts;
pub use keys::{FleetKey, FleetKeyError, PublicFleetKey};
pub use lead::{AgentCommandSender, GatherError, GatheredFleet, LedFleet, LossPolicy, TestHost, WrittenSeconds};
pub use message::Assignment;
pub use nats::{NatsBus, NatsServer, without_password};
pub use numbers::{HeldNumbers, LocalNumbers, NumberRequest, NumberSource, TakenNumber};
pub use packet::version;
pub use serve::{AgentLink, AgentNumbers, EndRequest, HostListeners, RunTest, serve};
pub use share::{LabelShare, ShareError, workers_by_share};
pub use subjects::Outgoing;
