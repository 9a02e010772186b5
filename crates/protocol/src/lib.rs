//! Clients that measure: HTTP/1.1, WebSocket, server-sent events, DNS, TLS; one socket layer with exact timestamps.
//!
//! Read [`Network`] first (what one worker's connections share), then [`http::Client`], [`ws::Socket`] and
//! [`sse::EventStream`]. Deliberately absent: names,
//! checks, histograms (callers record), scripts.

mod admission;
mod connect;
mod dns;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
mod network;
mod random;
mod route;
mod sampling;
mod sources;
pub mod sse;
mod stream;
mod tcp;
mod tls;
pub mod ws;

pub use admission::Share;
pub use failure::Failure;
pub use network::{ConnectionCounts, Network, NetworkError, NetworkOptions};
pub use route::{Proxy, Route};
pub use sources::{SourceError, SourceRange};
