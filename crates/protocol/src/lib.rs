//! Clients that measure: HTTP, WebSocket, server-sent events, gRPC, raw TCP, UDP, Redis, SQL, Kafka. They share one socket layer with exact
//! timestamps.
//!
//! Read [`Network`] first (shared by one worker's connections), then [`http::Client`], [`ws::WebSocket`], [`sse::EventStream`], [`grpc::GrpcClient`],
//! [`raw::RawConnection`], [`udp::DatagramSocket`], [`redis::RedisClient`], [`sql::SqlClient`] and [`kafka::KafkaClient`]. Deliberately absent:
//! names, checks, histograms (callers record), scripts.
//!
//! Layers, from the bottom up. None knows a layer above it:
//!
//! 1. Errors and values: `failure`, `random`, `credentials`, `sources`, `route`, `admission`, `identity`, `options`. `http1` parses HTTP/1.1 responses without
//!    sockets; proxies use them, too.
//! 2. Sockets: `tcp` and `stream` (exact times), `tls`, `dns`, `sampling`.
//! 3. [`Network`] holds those for one worker, and `extensions` stores the state of protocols.
//! 4. Connections: `connect` (by a `route`, through a `tunnel`), `connection` (open and counted), and `http2` (the streams of one).
//! 5. Protocols, one folder each: `http`, and over it `ws`, `sse` and `grpc`; `raw`, and over it `redis`, `sql` and `kafka`; `udp`.
//!
//! To add a protocol, add a folder to layer 5 and its `mod` line here. Its settings are passed in [`NetworkOptions::protocols`], its shared state is
//! in `Network::state`, and it connects with `connect`. No file of the lower layers changes.

mod accepted_identity;
mod address_rules;
mod admission;
mod allowed_hosts;
mod certificate_file;
mod client_tls;
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
mod http2;
mod identity;
mod io_failure;
pub mod kafka;
mod late_reads;
mod name_resolution;
mod network;
mod network_error;
mod options;
mod peer;
mod pem_encryption;
mod protocol_options;
mod proxies;
mod proxy;
mod random;
pub mod raw;
mod read_budget;
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
mod tls_offer;
mod token;
mod tunnel;
pub mod udp;
pub mod ws;

pub use address_rules::{AddressBlock, AddressBlockError, AddressRules, ReplacedHost};
pub use admission::WorkerPosition;
pub use allowed_hosts::{AllowedHosts, HostPattern, HostPatternError};
pub use client_tls::ClientTls;
pub use failure::{Failure, FailureDetail};
pub use identity::{ClientIdentity, IdentityChoice, IdentitySource};
pub use name_resolution::{AddressPolicy, AddressSelection, NameResolution};
pub use network::{ConnectionCounts, Network};
pub use network_error::NetworkError;
pub use options::NetworkOptions;
pub use peer::{ConnectionPeer, TlsSession};
pub use protocol_options::{ProtocolOptions, ProtocolSettings};
pub use proxies::{DirectHosts, ProxyRules};
pub use proxy::{Proxy, ProxyError};
pub use route::NetworkRoute;
pub use sources::{SourceError, SourceRange, foreign_source};
pub use tls_failure::TlsRemedies;
pub use tls_offer::{TlsOffer, TlsVersion};
