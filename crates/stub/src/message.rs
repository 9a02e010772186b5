//! A request as an endpoint sees it, and the response it gives.
//!
//! Read [`StubRequest`] and [`StubResponse`]; a [`Call`] hands a request to another thread, which sends a [`Reply`].

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::GrpcAnswer;

/// A request, read completely.
#[derive(Debug, Clone)]
pub struct StubRequest {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Undecoded, without the question mark.
    pub query: String,
    /// Values of the route's `:name` parts, percent-decoded.
    pub parameters: Vec<(String, String)>,
    /// Names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// Of gRPC, in place of the body: encoded, not compressed.
    pub messages: Vec<Bytes>,
    /// When the head had been read: CLOCK_MONOTONIC, nanoseconds.
    pub arrived_ns: u64,
    /// When the wait of its behaviour was to end: CLOCK_MONOTONIC, nanoseconds. The response is made then or shortly after.
    pub due_ns: u64,
    /// Requests that this route saw before.
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

    /// The body as JSON; `None` when it is not.
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// What a function returns. It replaces the behaviour's status, and its headers are added to the behaviour's.
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

/// What another thread makes of a request. The endpoint's behaviour fills in what it leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    pub status: Option<u16>,
    /// In place of the behaviour's of the same names.
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    /// Of gRPC, in place of the behaviour's.
    pub grpc: Option<GrpcAnswer>,
    /// Of TCP: the connection is closed behind the body.
    pub closes: bool,
    /// In place of the behaviour's wait. Nanoseconds.
    pub delay_ns: Option<u64>,
}

impl Reply {
    pub(crate) fn failed(text: &'static str) -> Self {
        Self { status: Some(500), body: Some(Bytes::from_static(text.as_bytes())), ..Self::default() }
    }
}

/// A request handed to another thread on its arrival; the response leaves after the wait. Dropping `answer` responds with 500.
#[derive(Debug)]
pub struct Call {
    /// Number of the server, as given to [`crate::ServerBuilder::number`].
    pub server: usize,
    /// Number of the route, in the order in which they were given.
    pub route: usize,
    pub request: StubRequest,
    pub answer: oneshot::Sender<Reply>,
}
