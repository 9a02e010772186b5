//! A request as an endpoint receives it, and the response.
//!
//! Read [`StubRequest`] and [`StubResponse`]. A [`Call`] passes a request to another thread, which sends a [`Reply`].

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::GrpcAnswer;

/// A complete request.
#[derive(Debug, Clone)]
pub struct StubRequest {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Percent-encoded, without the question mark.
    pub query: String,
    /// Values of the route's `:name` parts, percent-decoded.
    pub parameters: Vec<(String, String)>,
    /// Names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Messages of gRPC, which replace the body: encoded, not compressed.
    pub messages: Vec<Bytes>,
    /// When the head had been read. CLOCK_MONOTONIC, nanoseconds.
    pub arrived_ns: u64,
    /// When the wait of its behaviour ends. CLOCK_MONOTONIC, nanoseconds. The response is created then or shortly after.
    pub due_ns: u64,
    /// Number of earlier requests to this route.
    pub sequence: u64,
}

impl StubRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first query value of that name, percent-decoded.
    pub fn query_value(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes()).find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
    }

    /// The body as JSON. `None` when it is not JSON.
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// The result of a function. It replaces the behaviour's status, and its headers are added to the behaviour's.
#[derive(Debug, Clone)]
pub struct StubResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl StubResponse {
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        Self::new(status, value.to_string()).header("content-type", "application/json")
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The response that another thread chooses. The endpoint's behaviour supplies the missing parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub status: Option<u16>,
    /// Replace the behaviour's headers of the same names.
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    /// For gRPC. Replaces the behaviour's answer.
    pub grpc: Option<GrpcAnswer>,
    /// For TCP: the connection is closed after the body.
    pub closes: bool,
    /// Replaces the behaviour's wait. Nanoseconds.
    pub delay_ns: Option<u64>,
}

impl Reply {
    pub(crate) fn failed(text: &'static str) -> Self {
        Self { status: Some(500), body: Some(Bytes::from_static(text.as_bytes())), ..Self::default() }
    }
}

/// A request passed to another thread on its arrival. The response is sent after the wait. Dropping `answer` responds with 500.
#[derive(Debug)]
pub struct Call {
    /// The number set by [`crate::ServerBuilder::number`].
    pub server: usize,
    /// Index of the route, in the order in which the routes were added.
    pub route: usize,
    pub request: StubRequest,
    pub answer: oneshot::Sender<Reply>,
}
