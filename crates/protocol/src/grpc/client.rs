//! One user's connections to each server, and its unary calls.

use std::rc::Rc;

use bytes::Bytes;

use super::frame::{FrameReader, framed, sole};
use super::request::PreparedGrpcCall;
use super::status::{GrpcStatus, check_content_type, of_response};
use super::stream::{GrpcStreamOpening, open};
use crate::failure::Failure;
use crate::http::{Client, ClientOptions, Exchange, Response, Versions};
use crate::network::Network;

/// One virtual user's gRPC client. All its calls to one origin share one HTTP/2 connection, or as many as the options allow, with TLS if the origin
/// uses it.
#[derive(Debug)]
pub struct GrpcClient {
    http: Client,
}

/// A call with one message and one response, and its result.
#[derive(Debug)]
pub struct UnaryCall {
    /// The underlying HTTP/2 request: its times, bytes and fields.
    pub exchange: Exchange,
    /// `Err`: why there is no status.
    pub reply: Result<GrpcReply, Failure>,
}

/// The server's response to a call.
#[derive(Debug, Clone)]
pub struct GrpcReply {
    pub status: GrpcStatus,
    /// The message that came with the status.
    pub details: String,
    /// The encoded message. Always present if the status is OK.
    pub message: Option<Bytes>,
}

impl GrpcClient {
    pub fn new(network: Rc<Network>, options: ClientOptions) -> Self {
        Self { http: Client::new(network, options).with_versions(Versions::Http2Always) }
    }

    /// Waits for permission to open a connection, like [`Client::admit`].
    pub async fn admit(&self, call: &PreparedGrpcCall) {
        self.http.admit(&call.http).await;
    }

    /// Whether calls carry traces with ids that the network generates.
    pub fn makes_traces(&self) -> bool {
        self.http.makes_traces()
    }

    /// Opens the connection that this call will use, unless there is one.
    ///
    /// # Errors
    /// The server cannot be reached, or does not speak HTTP/2.
    pub async fn connect(&self, call: &PreparedGrpcCall) -> Result<(), Failure> {
        self.http.connect_http2(&call.http).await
    }

    /// Closes all connections without a call in progress.
    pub fn close(&self) {
        self.http.close();
    }

    /// Sends a call with one message and waits for one response.
    pub async fn unary(&self, call: &PreparedGrpcCall, message: &[u8]) -> UnaryCall {
        let body = framed(message, call.call.gzip);
        let exchange = self.http.send_http2(call.with(&body)).await;
        let reply = match &exchange.result {
            Ok(response) => reply(response, call.call.message_bytes_max),
            Err(failure) => Err(failure.clone()),
        };
        UnaryCall { exchange, reply }
    }

    /// Opens a call that sends and receives messages one by one. It does not wait for the head of the response: a server may send none before its
    /// first message.
    pub async fn stream(&self, call: &PreparedGrpcCall) -> GrpcStreamOpening {
        open(&self.http, call).await
    }
}

fn reply(response: &Response, message_bytes_max: u64) -> Result<GrpcReply, Failure> {
    let Response { status: http, headers, trailers, body } = response;
    let (status, details) = of_response(*http, headers, trailers)?;
    if status != GrpcStatus::OK {
        return Ok(GrpcReply { status, details, message: None });
    }
    check_content_type(headers)?;
    if let Some(message) = sole(body, message_bytes_max) {
        return Ok(GrpcReply { status, details, message: Some(message) });
    }
    let mut reader = FrameReader::new(headers.get("grpc-encoding"), message_bytes_max);
    reader.feed(body);
    let message = reader.next()?;
    if message.is_none() {
        reader.finish()?;
        return Err(Failure::protocol("the status is OK, but the response has no message"));
    }
    if reader.next()?.is_some() {
        return Err(Failure::protocol("the response has more than one message, but the method returns one"));
    }
    reader.finish()?;
    Ok(GrpcReply { status, details, message })
}
