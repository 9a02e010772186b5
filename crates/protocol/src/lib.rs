//! Clients that measure: HTTP/1.1, DNS, TLS; one socket layer with exact timestamps.
//!
//! Read [`Network`] first (what one worker's connections share), then [`http::Client`]. Deliberately absent: names,
//! checks, histograms (callers record), scripts.

mod connect;
mod dns;
mod failure;
pub mod http;
mod network;
mod stream;
mod tls;

pub use failure::Failure;
pub use network::{ConnectionCounts, Network, NetworkError, NetworkOptions};
