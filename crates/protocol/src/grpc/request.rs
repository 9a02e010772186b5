//! A call as an HTTP/2 request.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::span::RequestLabel;

use crate::http::{BodyUse, Http2Head, Http2Request, Origin, Request, SharedBody};

/// Size of a message's prefix.
const PREFIX_BYTES: u64 = 5;

/// The method to call, and its metadata.
#[derive(Debug, Clone)]
pub struct GrpcRequest {
    pub origin: Rc<Origin>,
    /// `/package.Service/Method`.
    pub path: Rc<str>,
    pub metadata: Vec<(String, String)>,
    /// Nanoseconds. It is sent to the server. `None`: a stream without a time limit.
    pub timeout_ns: Option<u64>,
    /// Whether messages are sent compressed.
    pub gzip: bool,
    /// Applies after decompression.
    pub message_bytes_max: u64,
    pub label: RequestLabel,
    /// The local address of its connection. `None`: as the network's options say.
    pub source: Option<IpAddr>,
}

/// A call in HTTP/2 form. It is created once, and reused for calls that differ only in their messages.
#[derive(Debug)]
pub struct PreparedGrpcCall {
    pub(super) call: GrpcRequest,
    /// Without a body: the request does not declare the body's length.
    pub(super) http: Request,
    head: OnceCell<Http2Head>,
}

impl PreparedGrpcCall {
    /// `timeout_ns`: used if the call has none.
    pub fn new(call: GrpcRequest, timeout_ns: u64) -> Self {
        let http = Request {
            origin: Rc::clone(&call.origin),
            method: "POST".into(),
            path: call.path.to_string(),
            headers: lines(&call),
            body: SharedBody::default(),
            trailers: None,
            timeout_ns,
            body_use: BodyUse::Keep,
            body_bytes_max: call.message_bytes_max.saturating_add(PREFIX_BYTES),
            label: call.label,
            source: call.source,
        };
        Self { call, http, head: OnceCell::new() }
    }

    /// The method to call.
    pub fn request(&self) -> &GrpcRequest {
        &self.call
    }

    pub(super) fn with<'a>(&'a self, body: &'a Bytes) -> Http2Request<'a> {
        Http2Request { request: &self.http, body: std::slice::from_ref(body), head: &self.head }
    }
}

/// A time limit in the format of `grpc-timeout`: at most eight digits and a unit (specification, "Timeout"). It is rounded up, so that the server
/// does not give up before the client.
fn timeout(ns: u64) -> String {
    const UNITS: [(u64, char); 6] =
        [(1, 'n'), (1_000, 'u'), (1_000_000, 'm'), (1_000_000_000, 'S'), (60_000_000_000, 'M'), (3_600_000_000_000, 'H')];
    for (unit, name) in UNITS {
        let count = ns.div_ceil(unit);
        if count < 100_000_000 {
            return format!("{count}{name}");
        }
    }
    "99999999H".to_owned()
}

/// The header lines of a call. Explicit ones take precedence.
fn lines(request: &GrpcRequest) -> Vec<(String, String)> {
    let mut lines = Vec::with_capacity(7 + request.metadata.len());
    let mut add = |name: &str, value: &str| lines.push((name.to_owned(), value.to_owned()));
    // The specification lists these three first.
    add("te", "trailers");
    if let Some(ns) = request.timeout_ns {
        add("grpc-timeout", &timeout(ns));
    }
    add("content-type", "application/grpc");
    if request.gzip {
        add("grpc-encoding", "gzip");
    }
    add("grpc-accept-encoding", "gzip");
    // Without this, an intermediary could compress the whole body.
    add("accept-encoding", "identity");
    if !request.metadata.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
        add("user-agent", concat!("loadstone/", env!("CARGO_PKG_VERSION")));
    }
    lines.extend(request.metadata.iter().cloned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_at_most_eight_digits_and_is_rounded_up() {
        for (ns, text) in [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (30_000_000_000, "30000000u"),
            (100_000_000_001, "100001m"),
            (u64::MAX, "5124096H"),
        ] {
            assert_eq!(timeout(ns), text);
        }
    }
}
