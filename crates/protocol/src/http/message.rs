//! Requests as they go out, and what came back.

use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::span::RequestLabel;
use loadstone_metrics::{Nanos, Phases};

use super::headers::Headers;
use super::trace::TraceParent;
use crate::failure::Failure;

/// Scheme, host and port of a URL: what a connection is made to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// As the `Host` header names it: brackets around IPv6 addresses, no default port.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let default = if self.tls { 443 } else { 80 };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }
}

/// What to do with a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    /// Kept for the caller, decompressed.
    Keep,
    /// Read and counted; kept only where the status is 400 or above, to tell what went wrong.
    Discard,
}

impl BodyUse {
    pub(crate) fn keeps(self, status: u16) -> bool {
        self == Self::Keep || status >= FAILED_FROM
    }
}

/// Client errors and server errors (RFC 9110, section 15).
pub(crate) const FAILED_FROM: u16 = 400;

/// A request, ready for the wire. Build once and send many times where nothing varies.
#[derive(Debug, Clone)]
pub struct Request {
    pub origin: Rc<Origin>,
    /// Upper-case method.
    pub method: Rc<str>,
    /// Path and query as sent.
    pub path: String,
    /// Header lines in order; `Host`, `Content-Length` and `Accept-Encoding` are added where missing.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// From start to last byte. Nanoseconds.
    pub timeout_ns: u64,
    pub body_use: BodyUse,
    /// Larger bodies fail the request. Bytes, counted after decompression where the body is kept.
    pub body_bytes_max: u64,
    /// What the trace ids of this request say of it, where the network makes them.
    pub label: RequestLabel,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    /// Empty when the body was discarded.
    pub body: Bytes,
    /// Fields that came after the body. Only HTTP/2 gives them.
    pub trailers: Headers,
}

/// One request and what became of it. Instants are on the run's clock.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub started: Nanos,
    pub ended: Nanos,
    pub phases: Phases,
    pub result: Result<Response, Failure>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// A new connection was opened for it.
    pub connected: bool,
    /// How often it was sent again, since the connection it went out on was being closed as idle.
    pub retried: u32,
    /// What its `traceparent` header said, where the network sends one.
    /// In a box of its own: every exchange is moved a few times, and few carry one.
    pub trace: Option<Box<TraceParent>>,
}
