//! Requests as they go out, and what came back.

use std::rc::Rc;

use bytes::Bytes;
use metrics::{Nanos, Outcome, Phases};

/// Scheme, host and port of a URL: what a connection is made to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

/// What to do with an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    /// Kept for the caller, decompressed.
    Keep,
    /// Read and counted, not kept.
    Discard,
}

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
    /// Larger bodies fail the request. Bytes.
    pub body_bytes_max: u64,
}

/// Response header lines in order, names in lower case.
#[derive(Debug, Clone, Default)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The first value of a header; `name` in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a header, in order; `name` in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    /// Empty when the body was discarded.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, Clone)]
pub struct Failure {
    pub outcome: Outcome,
    /// For people, without addresses and numbers that differ from case to case.
    pub message: String,
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
}
