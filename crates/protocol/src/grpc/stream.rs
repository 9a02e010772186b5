//! A call that sends and receives messages one by one.

use std::future::poll_fn;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};

use super::frame::{FrameReader, framed};
use super::request::PreparedGrpcCall;
use super::status::{GrpcStatus, check_content_type, of_response, trailers_of};
use crate::connect::within;
use crate::failure::Failure;
use crate::http::{Client, Exchange, Headers, OpenStream, StreamPermit};
use crate::http2::{Http2Stream, ResponseEnd};
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
    stream: Rc<Http2Stream>,
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
    /// Messages that had arrived before the end are delivered first.
    end: Option<ResponseEnd>,
    stream: Rc<Http2Stream>,
    _permit: StreamPermit,
}

#[derive(Debug)]
enum Receiving {
    Head,
    Messages(FrameReader),
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
    let Some(OpenStream { stream, permit }) = stream else {
        let failure = exchange.result.clone().err().unwrap_or_else(|| Failure::new(Outcome::Interrupted, String::new()));
        return GrpcStreamOpening { exchange, opened: Err(failure) };
    };
    let limit = network.clock().timer();
    limit.reset(request.timeout_ns.map_or(Nanos::MAX, |ns| exchange.started.saturating_add(ns)));
    let stream = Rc::new(stream);
    let sender = GrpcSender { stream: Rc::clone(&stream), gzip: request.gzip, ended: false, bytes: exchange.bytes_sent };
    let receiver = GrpcReceiver {
        network: Rc::clone(network),
        limit,
        state: Receiving::Head,
        headers: Headers::default(),
        http_status: 0,
        message_bytes_max: request.message_bytes_max,
        bytes: 0,
        end: None,
        stream,
        _permit: permit,
    };
    GrpcStreamOpening { exchange, opened: Ok((sender, receiver)) }
}

impl GrpcSender {
    /// Sends a message as far as the server's flow control allows, and waits until the rest is sent.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), Failure> {
        if self.ended {
            return Err(Failure::new(Outcome::Closed, "the script has ended its messages"));
        }
        let frame = framed(message, self.gzip);
        let mut sent = 0;
        while sent < frame.len() {
            let written = poll_fn(|context| {
                let written = self.stream.poll_write(context, &frame[sent..], false);
                self.stream.pass_on(context);
                written
            });
            let written = written.await.map_err(|broken| broken.failure)?;
            sent += written;
            self.bytes += written as u64;
        }
        Ok(())
    }

    /// Signals that no message follows.
    pub fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.stream.end();
        }
    }

    /// Cancels the call and informs the server.
    pub fn cancel(&mut self) {
        self.ended = true;
        self.stream.cancel(Failure::new(Outcome::Closed, "the script has ended the call"));
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
        loop {
            match &mut self.state {
                Receiving::Head => {
                    let head = within(&self.limit, "waiting for the response", poll_fn(|context| self.stream.poll_head(context))).await?;
                    let (head, _) = head.map_err(|broken| broken.failure)?;
                    self.http_status = head.status.unwrap_or_default();
                    self.bytes += head.bytes + 3;
                    self.headers = Headers::of_http2(head);
                    self.state = Receiving::Messages(FrameReader::new(self.headers.get("grpc-encoding"), self.message_bytes_max));
                }
                Receiving::Messages(frames) => {
                    if let Some(message) = frames.next()? {
                        return Ok(ReceivedGrpc::Message { message, at: self.network.clock().now() });
                    }
                    if let Some(end) = self.end.take() {
                        frames.finish()?;
                        return self.status(end);
                    }
                    let piece = within(&self.limit, "waiting for a message", poll_fn(|context| self.stream.poll_body(context))).await?;
                    let piece = piece.map_err(|broken| broken.failure)?;
                    self.bytes += piece.bytes;
                    self.end = piece.end;
                    if self.http_status == 200 && piece.bytes > 0 {
                        check_content_type(&self.headers)?;
                        frames.feed(&piece.stored);
                    }
                }
            }
        }
    }

    fn status(&mut self, end: ResponseEnd) -> Result<ReceivedGrpc, Failure> {
        self.bytes += end.trailers.as_ref().map_or(0, |trailers| trailers.bytes);
        let trailers = end.trailers.map(Headers::of_http2).unwrap_or_default();
        let (status, details) = of_response(self.http_status, &self.headers, &trailers)?;
        let trailers = trailers_of(&self.headers, &trailers).clone();
        Ok(ReceivedGrpc::End { status, details, trailers, at: end.at })
    }
}
