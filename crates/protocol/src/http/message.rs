//! Outgoing requests, and their results.

use std::net::IpAddr;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::span::RequestLabel;
use loadstone_metrics::{Nanos, Phases};

use super::body::SharedBody;
use super::headers::Headers;
use super::request_trailers::RequestTrailers;
use super::trace::TraceParent;
use crate::failure::Failure;
use crate::peer::ConnectionPeer;

/// Scheme, host and port of a URL: the destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// The value of the `Host` header: brackets around IPv6 addresses, no default port.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let default = if self.tls { 443 } else { 80 };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }
}

/// What to do with a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    /// Return it to the caller, decompressed.
    Keep,
    /// Read and count it. Keep it only if the status is 400 or above, to show what went wrong.
    Discard,
}

impl BodyUse {
    /// The lowest status whose body is kept.
    pub(crate) fn keep_from(self) -> u16 {
        if self == Self::Keep { 0 } else { FAILED_STATUS_MIN }
    }
}

/// The lowest status of client errors and server errors (RFC 9110, section 15).
pub(crate) const FAILED_STATUS_MIN: u16 = 400;

/// A request, ready to send. Build it once and send it many times if nothing varies.
#[derive(Debug, Clone)]
pub struct Request {
    pub origin: Rc<Origin>,
    /// As sent: methods are case-sensitive (RFC 9110, section 9.1).
    pub method: Rc<str>,
    /// Path and query as sent.
    pub path: String,
    /// Header lines in order. `Host`, `Content-Length` and `Accept-Encoding` are added if missing.
    pub headers: Vec<(String, String)>,
    pub body: SharedBody,
    /// Fields after the body. HTTP/1.1 then sends the body in chunks.
    pub trailers: Option<Rc<RequestTrailers>>,
    /// Time limit from the start to the last byte. Nanoseconds.
    pub timeout_ns: u64,
    pub body_use: BodyUse,
    /// A larger body fails the request. Bytes, counted after decompression if the body is kept.
    pub body_bytes_max: u64,
    /// Identifies the request in its trace ids, if the network generates them.
    pub label: RequestLabel,
    /// The local address of its connection. `None`: as the network's options say.
    pub source: Option<IpAddr>,
}

impl Request {
    /// What HTTP/1.1 sends after the head.
    pub(crate) fn framed_body(&self) -> &SharedBody {
        self.trailers.as_ref().map_or(&self.body, |trailers| trailers.chunked())
    }
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: Headers,
    /// Empty if the body was discarded.
    pub body: Bytes,
    /// Fields after the body, of HTTP/2 and of chunked bodies.
    pub trailers: Headers,
}

/// One request and its result. Instants are on the run's clock.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub started: Nanos,
    pub ended: Nanos,
    pub phases: Phases,
    pub result: Result<Response, Failure>,
    /// The response of a failed exchange, as far as it had arrived, with its body as sent. Boxed, since few exchanges have one.
    pub answer: Option<Box<Response>>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// A new connection was opened for it.
    pub connected: bool,
    /// How often it was resent because the server had not processed it: its connection was being closed, or its stream was refused.
    pub retried: u32,
    /// Its `traceparent` header, if the network sends one. Boxed, since every exchange is moved a few times and few carry one.
    pub trace: Option<Box<TraceParent>>,
    /// The other end of the connection that it used last. `None`: it got no connection, or another protocol took it over.
    pub peer: Option<Rc<ConnectionPeer>>,
}

impl Exchange {
    /// The response, even if the exchange failed afterwards.
    pub fn response(&self) -> Option<&Response> {
        self.result.as_ref().ok().or(self.answer.as_deref())
    }

    /// Fails an exchange whose response had arrived. The response remains its answer.
    pub(crate) fn fail_answered(&mut self, failure: Failure) {
        if let Ok(response) = std::mem::replace(&mut self.result, Err(failure)) {
            self.answer = Some(Box::new(response));
        }
    }
}
