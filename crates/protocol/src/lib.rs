//! Clients that measure: HTTP/1.1, DNS, TLS; one socket layer with exact timestamps.
//!
//! Read [`http::Client`] first. Deliberately absent: names, checks, histograms (callers record), scripts.

pub mod http;
mod network;

pub use network::{Network, NetworkError, NetworkOptions};
