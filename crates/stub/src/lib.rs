//! Simulated endpoints: servers whose behaviour is a value.
//!
//! Read [`Server`] first (routes to behaviours, on its own thread), then [`Behaviour`] (delays, answers, faults, limits) and [`Recording`]
//! (what it received, in bounded memory). [`StubSpec`], [`GrpcSpec`] and [`TcpSpec`] are the same as plain data. [`TcpProxy`] forwards
//! bytes to a real server with delays, throttling or resets. [`DnsServer`] is a name server. [`demo`] is a small shop with two deliberate
//! limits, [`truth`] a server whose response times are known in closed form, [`raw`] a scripted socket for bytes that no correct server
//! sends. Deliberately absent: clients, load, verdicts, and every other crate of this project except `units`, so that a stub can test all
//! of them.

mod behaviour;
mod body;
mod clock;
mod connection;
mod delay;
pub mod demo;
mod dns;
mod endpoint;
mod error;
mod exchange;
mod grpc;
mod held;
mod limit;
mod message;
mod proxy;
mod random;
pub mod raw;
mod recording;
mod route;
mod seconds;
mod serve;
mod server;
mod spec;
mod tcp;
mod template;
mod timer;
mod tls;
pub mod truth;
mod visit;
mod wait;

pub use behaviour::{Behaviour, ContentEncoding, Fault};
pub use body::{BodyPace, BodySource};
pub use clock::now_ns;
pub use delay::{Delay, DelayError};
pub use dns::{DnsMove, DnsName, DnsServer, DnsSpec, NameSecond};
pub use error::{BehaviourError, StubError};
pub use grpc::{GRPC_STATUSES, GrpcAnswer, GrpcContent, GrpcFunction, GrpcMethodSpec, GrpcResponseSpec, GrpcSource, GrpcSpec, GrpcTurns};
pub use limit::{Concurrency, PlaceCount, RateLimit};
pub use message::{Call, Reply, StubRequest, StubResponse};
pub use proxy::{ProxyEffects, ProxySpec, TcpProxy};
pub use random::SeededRandom;
pub use recording::{Bin, Recording, RouteCounts};
pub use seconds::SecondCounts;
pub use server::{Server, ServerBuilder};
pub use spec::{CertificateFiles, FaultSpec, LimitSpec, ResponseSpec, RouteSpec, SlowSpec, StageSpec, StubSpec, StubWiring, TlsSpec};
pub use tcp::{RequestEnd, TcpSpec, TcpTalk};
pub use tls::{CertificateState, OwnCertificate, TlsOptions};
pub use wait::{Empirical, Wait};
