//! One user's connection to each server, and its unary calls.

use std::rc::Rc;

use bytes::Bytes;
use metrics::span::RequestLabel;

use super::frame::{FrameReader, framed};
use super::metadata;
use super::status::{GrpcStatus, of_response};
use super::stream::{GrpcStreamOpening, open};
use crate::failure::Failure;
use crate::http::{BodyUse, Client, ClientOptions, Exchange, Headers, Origin, Request, Response, Versions};
use crate::network::Network;

/// Room for the prefix of a message.
const PREFIX_BYTES: u64 = 5;

/// One virtual user's gRPC client: all its calls to one origin share a connection of HTTP/2, with TLS where the origin has it.
#[derive(Debug)]
pub struct GrpcClient {
    http: Client,
}

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

/// A call with one message and one response, and what became of it.
#[derive(Debug)]
pub struct UnaryCall {
    /// The request of HTTP/2 that it was: its times, bytes and fields.
    pub exchange: Exchange,
    /// `Err`: why there is no status.
    pub reply: Result<GrpcReply, Failure>,
}

/// How a server answered.
#[derive(Debug, Clone)]
pub struct GrpcReply {
    pub status: GrpcStatus,
    /// The words that came with the status.
    pub details: String,
    /// Encoded; always there where the status is OK.
    pub message: Option<Bytes>,
}

impl GrpcRequest {
    /// As HTTP/2 sends it.
    pub(super) fn over_http(&self, body: Bytes, timeout_ns: u64) -> Request {
        Request {
            origin: Rc::clone(&self.origin),
            method: "POST".into(),
            path: self.path.to_string(),
            headers: metadata::lines(self),
            body,
            timeout_ns,
            body_use: BodyUse::Keep,
            body_bytes_max: self.message_bytes_max.saturating_add(PREFIX_BYTES),
            label: self.label,
        }
    }
}

impl GrpcClient {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        Self { http: Client::new(network, options).with_versions(Versions::Http2Always) }
    }

    /// Waits for the right to open a connection, as [`Client::admit`] does.
    pub async fn admit(&self, origin: &Rc<Origin>) {
        self.http.admit(origin).await;
    }

    /// Whether calls carry traces with ids of the network's own.
    pub fn makes_traces(&self) -> bool {
        self.http.makes_traces()
    }

    /// Closes all connections that no call is on.
    pub fn close(&self) {
        self.http.close();
    }

    /// Calls with one message and waits for one. `timeout_ns`: where the request names none.
    pub async fn unary(&self, request: &GrpcRequest, message: &[u8], timeout_ns: u64) -> UnaryCall {
        let over_http = request.over_http(framed(message, request.gzip), timeout_ns);
        let exchange = self.http.send(&over_http).await;
        let reply = match &exchange.result {
            Ok(response) => reply(response, request.message_bytes_max),
            Err(failure) => Err(failure.clone()),
        };
        UnaryCall { exchange, reply }
    }

    /// Opens a call whose messages come and go one by one. The head of the response is not waited for: a server may send none before its first
    /// message.
    pub async fn stream(&self, request: &GrpcRequest, timeout_ns: u64) -> GrpcStreamOpening {
        open(&self.http, request, timeout_ns).await
    }
}

fn reply(response: &Response, message_bytes_max: u64) -> Result<GrpcReply, Failure> {
    let Response { status: http, headers, trailers, body } = response;
    let (status, details) = of_response(*http, headers, trailers)?;
    if status != GrpcStatus::OK {
        return Ok(GrpcReply { status, details, message: None });
    }
    check_content_type(headers)?;
    let mut reader = FrameReader::new(headers.get("grpc-encoding"), message_bytes_max);
    reader.feed(body);
    let message = reader.next()?;
    if message.is_none() {
        reader.finish()?;
        return Err(Failure::protocol("the status is OK, and no message came"));
    }
    if reader.next()?.is_some() {
        return Err(Failure::protocol("more than one message came, and the method gives one"));
    }
    reader.finish()?;
    Ok(GrpcReply { status, details, message })
}

/// # Errors
/// What came is not gRPC.
pub(super) fn check_content_type(headers: &Headers) -> Result<(), Failure> {
    let is_grpc = headers.get("content-type").is_some_and(|kind| kind.starts_with("application/grpc"));
    if is_grpc { Ok(()) } else { Err(Failure::protocol("the response is not gRPC: its content-type is another")) }
}
