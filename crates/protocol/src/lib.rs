//! Clients that measure: HTTP, WebSocket, server-sent events, gRPC, raw TCP, UDP, Redis, SQL, Kafka; one socket layer with exact timestamps under them.
//!
//! Read [`Network`] first (what one worker's connections share), then [`http::Client`], [`ws::WebSocket`], [`sse::EventStream`],
//! [`grpc::GrpcClient`], [`raw::RawConnection`], [`udp::DatagramSocket`], [`redis::RedisClient`], [`sql::SqlClient`] and [`kafka::KafkaClient`].
//! Deliberately absent: names, checks, histograms (callers record), scripts.
//!
//! Layers, from the bottom up; none knows one above it:
//!
//! 1. Words and values: `failure`, `random`, `credentials`, `sources`, `route`, `admission`, `options`. `http1` reads HTTP/1.1 responses
//!    from bytes alone; proxies answer in it, too.
//! 2. Sockets: `tcp` and `stream` (exact times), `tls`, `dns`, `sampling`.
//! 3. [`Network`] holds those for one worker, and `extensions` for what protocols keep with it.
//! 4. Connections: `connect` (by a `route`, through a `tunnel`) and `connection` (open and counted).
//! 5. Protocols, a folder each: `http`, and over it `ws`, `sse` and `grpc`; `raw`, and over it `redis`, `sql` and `kafka`; `udp`.
//!
//! A further protocol is a folder of layer 5 and its `mod` line here. Its settings travel in [`NetworkOptions::protocols`], its shared
//! state lives in `Network::state`, it connects by `connect`; no file of the lower layers changes.

mod admission;
mod connect;
mod connection;
mod credentials;
mod dns;
mod extensions;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod grpc;
pub mod http;
mod http1;
mod io_failure;
pub mod kafka;
mod late_reads;
mod network;
mod options;
mod protocol_options;
mod random;
pub mod raw;
pub mod redis;
mod route;
mod sampling;
mod sources;
pub mod sql;
pub mod sse;
mod stream;
mod target;
mod tcp;
mod tls;
mod tls_failure;
mod tunnel;
pub mod udp;
pub mod ws;

pub use admission::WorkerPosition;
pub use failure::Failure;
pub use network::{ConnectionCounts, Network};
pub use options::{NetworkError, NetworkOptions};
pub use protocol_options::{ProtocolOptions, ProtocolSettings};
pub use route::{NetworkRoute, Proxy, ProxyError};
pub use sources::{SourceError, SourceRange};
