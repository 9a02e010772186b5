//! A call that sends and receives messages one by one.

use std::future::poll_fn;
use std::rc::Rc;

use ::h2::client::ResponseFuture;
use ::h2::{Reason, RecvStream, SendStream};
use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};

use super::frame::{FrameReader, framed};
use super::request::PreparedGrpcCall;
use super::status::{GrpcStatus, check_content_type, of_response, trailers_of};
use crate::connect::within;
use crate::failure::Failure;
use crate::http::{Client, Exchange, Headers, OpenStream, PeerWatch, StreamPermit, fields_bytes};
use crate::network::Network;

/// The result of opening a stream.
#[derive(Debug)]
pub struct GrpcStreamOpening {
    /// Its start, and the cost of opening it. The result is meaningless if there is a stream.
    pub exchange: Exchange,
    /// `Err`: why there is none.
    pub opened: Result<(GrpcSender, GrpcReceiver), Failure>,
}

/// The sending half, for the script's messages.
#[derive(Debug)]
pub struct GrpcSender {
    stream: SendStream<Bytes>,
    peer: PeerWatch,
    gzip: bool,
    ended: bool,
    /// Bytes passed to the connection so far.
    pub bytes: u64,
}

/// The receiving half, for the server's messages.
#[derive(Debug)]
pub struct GrpcReceiver {
    network: Rc<Network>,
    /// The time limit of the whole call.
    limit: loadstone_metrics::clock::Timer,
    state: Receiving,
    headers: Headers,
    http_status: u16,
    message_bytes_max: u64,
    /// Bytes received so far, with header fields counted before compression.
    pub bytes: u64,
    permit: StreamPermit,
}

#[derive(Debug)]
enum Receiving {
    Head(ResponseFuture),
    Messages { body: RecvStream, frames: FrameReader },
}

/// An item from a stream.
#[derive(Debug)]
pub enum ReceivedGrpc {
    Message { message: Bytes, at: Nanos },
    End { status: GrpcStatus, details: String, trailers: Headers, at: Nanos },
}

pub(super) async fn open(http: &Client, call: &PreparedGrpcCall) -> GrpcStreamOpening {
    let (network, request) = (http.network(), call.request());
    let (exchange, stream) = http.open_stream(call.with(&Bytes::new())).await;
    let Some(OpenStream { response, upload, permit }) = stream else {
        let failure = exchange.result.clone().err().unwrap_or_else(|| Failure::new(Outcome::Interrupted, String::new()));
        return GrpcStreamOpening { exchange, opened: Err(failure) };
    };
    let limit = network.clock().timer();
    limit.reset(request.timeout_ns.map_or(Nanos::MAX, |ns| exchange.started.saturating_add(ns)));
    let sender = GrpcSender { stream: upload, peer: permit.peer().clone(), gzip: request.gzip, ended: false, bytes: exchange.bytes_sent };
    let receiver = GrpcReceiver {
        network: Rc::clone(network),
        limit,
        state: Receiving::Head(response),
        headers: Headers::default(),
        http_status: 0,
        message_bytes_max: request.message_bytes_max,
        bytes: 0,
        permit,
    };
    GrpcStreamOpening { exchange, opened: Ok((sender, receiver)) }
}

impl GrpcSender {
    /// Sends a message as far as the server's flow control allows, and waits until the rest is sent.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        if self.ended {
            return Err(Failure::new(Outcome::Closed, "the script has ended its messages"));
        }
        let mut frame = framed(message, self.gzip);
        while !frame.is_empty() {
            self.stream.reserve_capacity(frame.len());
            let granted = match poll_fn(|context| self.stream.poll_capacity(context)).await {
                Some(granted) => granted.map_err(|error| self.peer.failure(&error))?,
                None => return Err(Failure::new(Outcome::Closed, "the server has ended the call")),
            };
            let piece = frame.split_to(granted.min(frame.len()));
            self.bytes += piece.len() as u64;
            self.stream.send_data(piece, false).map_err(|error| self.peer.failure(&error))?;
        }
        Ok(())
    }

    /// Signals that no message follows.
    pub fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            // This fails if the call is over, in which case the server need not be informed.
            let _ = self.stream.send_data(Bytes::new(), true);
        }
    }

    /// Cancels the call and informs the server.
    pub fn cancel(&mut self) {
        self.ended = true;
        self.stream.send_reset(Reason::CANCEL);
    }
}

impl GrpcReceiver {
    /// Fields of the response's head. Empty before it has arrived.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The HTTP status. 0 before the head has arrived.
    pub fn http_status(&self) -> u16 {
        self.http_status
    }

    /// The next message, or the end.
    ///
    /// # Errors
    /// The call broke, or exceeded its time limit.
    pub async fn next(&mut self) -> Result<ReceivedGrpc, Failure> {
        let peer = self.permit.peer();
        loop {
            match &mut self.state {
                Receiving::Head(response) => {
                    let (parts, body) = within(&self.limit, "waiting for the response", response)
                        .await?
                        .map_err(|error| peer.failure(&error))?
                        .into_parts();
                    self.http_status = parts.status.as_u16();
                    self.bytes += fields_bytes(&parts.headers) + 3;
                    self.headers = Headers::from_map(parts.headers);
                    let frames = FrameReader::new(self.headers.get("grpc-encoding"), self.message_bytes_max);
                    self.state = Receiving::Messages { body, frames };
                }
                Receiving::Messages { body, frames } => {
                    if let Some(message) = frames.next()? {
                        return Ok(ReceivedGrpc::Message { message, at: self.network.clock().now() });
                    }
                    let piece = within(&self.limit, "waiting for a message", body.data()).await?;
                    let Some(piece) = piece else {
                        frames.finish()?;
                        let trailers = within(&self.limit, "waiting for the status", body.trailers()).await?;
                        let trailers = trailers.map_err(|error| peer.failure(&error))?;
                        self.bytes += trailers.as_ref().map_or(0, fields_bytes);
                        let trailers = trailers.map(Headers::from_map).unwrap_or_default();
                        let (status, details) = of_response(self.http_status, &self.headers, &trailers)?;
                        let trailers = trailers_of(&self.headers, &trailers).clone();
                        return Ok(ReceivedGrpc::End { status, details, trailers, at: self.network.clock().now() });
                    };
                    let piece = piece.map_err(|error| peer.failure(&error))?;
                    self.bytes += piece.len() as u64;
                    body.flow_control().release_capacity(piece.len()).map_err(|error| peer.failure(&error))?;
                    if self.http_status == 200 {
                        check_content_type(&self.headers)?;
                        frames.feed(&piece);
                    }
                }
            }
        }
    }
}
