//! A call as a request of HTTP/2.

use std::cell::OnceCell;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::span::RequestLabel;

use crate::http::{BodyUse, Http2Head, Http2Request, Origin, Request};

/// Room for the prefix of a message.
const PREFIX_BYTES: u64 = 5;

/// What is called, and with which metadata.
#[derive(Debug, Clone)]
pub struct GrpcRequest {
    pub origin: Rc<Origin>,
    /// `/package.Service/Method`.
    pub path: Rc<str>,
    pub metadata: Vec<(String, String)>,
    /// Nanoseconds; the server is told. `None`: a stream lasts as long as it lasts.
    pub timeout_ns: Option<u64>,
    /// Messages go out compressed.
    pub gzip: bool,
    /// Counted after decompression.
    pub message_bytes_max: u64,
    pub label: RequestLabel,
}

/// A call as HTTP/2 sends it: made once, and used for as many calls as differ in their messages alone.
#[derive(Debug)]
pub struct PreparedGrpcCall {
    pub(super) call: GrpcRequest,
    /// Without a body: how long that is, the request does not say.
    http: Request,
    head: OnceCell<Http2Head>,
}

impl PreparedGrpcCall {
    /// `timeout_ns`: where the call names none.
    pub fn new(call: GrpcRequest, timeout_ns: u64) -> Self {
        let http = Request {
            origin: Rc::clone(&call.origin),
            method: "POST".into(),
            path: call.path.to_string(),
            headers: lines(&call),
            body: Bytes::new(),
            timeout_ns,
            body_use: BodyUse::Keep,
            body_bytes_max: call.message_bytes_max.saturating_add(PREFIX_BYTES),
            label: call.label,
        };
        Self { call, http, head: OnceCell::new() }
    }

    /// What is called.
    pub fn request(&self) -> &GrpcRequest {
        &self.call
    }

    pub(super) fn with<'a>(&'a self, body: &'a Bytes) -> Http2Request<'a> {
        Http2Request { request: &self.http, body, head: &self.head }
    }
}

/// A time limit as `grpc-timeout` says it: at most eight digits and a unit (specification, "Timeout"). Rounded up, so that the server does
/// not give up before we do.
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

/// The lines of a call's head; those given win.
fn lines(request: &GrpcRequest) -> Vec<(String, String)> {
    let mut lines = Vec::with_capacity(7 + request.metadata.len());
    let mut add = |name: &str, value: &str| lines.push((name.to_owned(), value.to_owned()));
    // The specification has these three first.
    add("te", "trailers");
    if let Some(ns) = request.timeout_ns {
        add("grpc-timeout", &timeout(ns));
    }
    add("content-type", "application/grpc");
    if request.gzip {
        add("grpc-encoding", "gzip");
    }
    add("grpc-accept-encoding", "gzip");
    // Or else what stands between us and the server could pack the whole body.
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
    fn a_timeout_has_at_most_eight_digits_and_is_never_short() {
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
