//! Clients that measure: HTTP/1.1, WebSocket, server-sent events, DNS, TLS; one socket layer with exact timestamps.
//!
//! Read [`Network`] first (what one worker's connections share), then [`http::Client`], [`ws::Socket`] and
//! [`sse::EventStream`]. Deliberately absent: names,
//! checks, histograms (callers record), scripts.

mod connect;
mod dns;
mod failure;
pub mod http;
mod network;
pub mod sse;
mod stream;
mod tls;
pub mod ws;

pub use failure::Failure;
pub use network::{ConnectionCounts, Network, NetworkError, NetworkOptions};
