//! HTTP/2: one connection per user and origin, whose requests run in parallel.
//!
//! Requests that run at the same time are written together, so a request is sent when it was passed to its connection. Byte counts are those of header
//! fields before compression and of bodies. Requests wait in order while the server allows no more streams, and all but the first wait for the
//! server's SETTINGS.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::http::HeaderMap;
use bytes::Bytes;
use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Timer;

use super::exchange::{QUEUE, decoded, fail, open_to, queue};
use super::h2_head::{Http2Head, fields_bytes};
use super::headers::Headers;
use super::message::{Exchange, Request, Response};
use super::multiplex::{Multiplex, StreamPermit};
use super::pool::{OriginPool, SharedConnection};
use super::trace::{self, TraceParent};
use super::trace_choice::TraceChoice;
use super::wire::{Traits, check};
use crate::connect::within;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::http1::too_large;
use crate::http2::{BrokenStream, DecodedBlock, Http2Need, Http2Stream, ResponsePlan};
use crate::network::Network;
use crate::proxies::ProxiedScheme;
use crate::target::ConnectTarget;
use crate::tls::Alpn;
use crate::tls_failure::NO_COMMON_PROTOCOL;

/// HTTP/2 if the server supports it.
const ALPN: Alpn = &["h2", "http/1.1"];
/// Offered if nothing else is sent: a server that prefers HTTP/1.1 would choose it.
const ALPN_ALONE: Alpn = &["h2"];

/// Size of `:status` before compression. Bytes.
const STATUS_BYTES: u64 = 3;

const FREE_STREAM: &str = "waiting for a free stream";

/// The result of a request that may use HTTP/2.
pub(crate) enum Http2Attempt {
    Http2(Exchange),
    /// The origin uses HTTP/1.1. If a connection was opened for the exchange, it is now idle.
    Http1(Exchange),
}

/// The connections of a user to an origin, at most `most`.
pub(crate) struct SharedConnections<'a> {
    pub(crate) network: &'a Rc<Network>,
    pub(crate) pool: &'a Rc<OriginPool>,
    pub(crate) most: usize,
    pub(crate) need: Http2Need,
}

/// A request for HTTP/2.
#[derive(Clone, Copy)]
pub(crate) struct Http2Request<'a> {
    /// Its body is not used.
    pub(crate) request: &'a Request,
    pub(crate) body: &'a [Bytes],
    /// Filled when the request is sent for the first time.
    pub(crate) head: &'a OnceCell<Http2Head>,
}

impl Http2Request<'_> {
    fn head(&self) -> Result<&Http2Head, Failure> {
        if let Some(head) = self.head.get() {
            return Ok(head);
        }
        let built = Http2Head::of(self.request)?;
        Ok(self.head.get_or_init(|| built))
    }
}

/// Sends a request over a shared connection to its origin, and opens the connection first if there is none. The exchange has begun; a second attempt
/// to send it is part of its time.
pub(crate) async fn send(
    over: &SharedConnections<'_>,
    outgoing: Http2Request<'_>,
    trace_choice: TraceChoice,
    always: bool,
    retry_idle_close: bool,
    mut exchange: Exchange,
) -> Http2Attempt {
    let request = outgoing.request;
    let traits = Traits::of(request);
    let network = over.network;
    exchange.trace = trace_choice.parent().map(Box::new);
    let timer = network.clock().timer();
    timer.reset(exchange.started.saturating_add(traits.timeout_ns));
    loop {
        let multiplex = match join(over, request, &traits, always, &mut exchange).await {
            Joined::Connection(multiplex) => multiplex,
            Joined::Failed => return Http2Attempt::Http2(exchange),
            Joined::Http1 => return Http2Attempt::Http1(exchange),
        };
        exchange.peer = Some(multiplex.counted.peer());
        let streamed = stream(&multiplex, outgoing, trace_choice.added(), &traits, &timer, &mut exchange).await;
        let unprocessed = streamed.as_ref().is_err_and(|broken| broken.unprocessed);
        if unprocessed && retry_idle_close && exchange.retried == 0 {
            exchange.retried = 1;
            continue;
        }
        // A complete response ended when its last byte was read.
        exchange.ended = streamed.as_ref().map_or_else(|_| network.clock().now(), |(_, at)| *at);
        exchange.result = streamed.map_err(|broken| broken.failure).and_then(|(response, _)| decoded(response, &traits, &mut exchange));
        return Http2Attempt::Http2(exchange);
    }
}

/// Opens a shared connection to the request's origin, unless there is one. The exchange has begun, and contains the reason of a failure.
pub(crate) async fn connect(over: &SharedConnections<'_>, request: &Request, exchange: &mut Exchange) -> bool {
    matches!(join(over, request, &Traits::of(request), true, exchange).await, Joined::Connection(..))
}

enum Joined {
    Connection(Rc<Multiplex>),
    /// The exchange contains the reason.
    Failed,
    Http1,
}

/// Joins the shared connection with the fewest streams. While one request opens a connection, the others wait for it.
async fn join(over: &SharedConnections<'_>, request: &Request, traits: &Traits, always: bool, exchange: &mut Exchange) -> Joined {
    let SharedConnections { network, pool, most, need } = *over;
    let mut shared = match pool.shared.try_lock() {
        Ok(shared) => shared,
        Err(_) => match queue(network, pool.shared.lock(), QUEUE, traits.timeout_ns, exchange).await {
            Ok(shared) => shared,
            Err(failure) => {
                fail(network, exchange, failure);
                return Joined::Failed;
            }
        },
    };
    match &mut *shared {
        SharedConnection::Http1 => return Joined::Http1,
        SharedConnection::Http2(open) => {
            open.retain(|multiplex| multiplex.is_open());
            if let Some(multiplex) = Multiplex::least_used(open, most) {
                return Joined::Connection(Rc::clone(multiplex));
            }
        }
        SharedConnection::Unknown => {}
    }
    if let Err(failure) = check(request) {
        fail(network, exchange, failure);
        return Joined::Failed;
    }
    let origin = &request.origin;
    let target = ConnectTarget {
        host: &origin.host,
        port: origin.port,
        alpn: origin.tls.then_some(if always { ALPN_ALONE } else { ALPN }),
        tunnel: true,
        scheme: ProxiedScheme::of_http(origin.tls),
        source: request.source,
    };
    let Some(connection) = open_to(network, target, traits.timeout_ns, exchange).await else {
        if always && exchange.result.as_ref().is_err_and(|failure| failure.message == NO_COMMON_PROTOCOL) {
            exchange.result = Err(need.failure("the server does not offer HTTP/2 in the TLS handshake (ALPN)"));
        }
        return Joined::Failed;
    };
    if !always && connection.stream.alpn() != Some(b"h2") {
        *shared = SharedConnection::Http1;
        pool.keep(connection);
        return Joined::Http1;
    }
    let Connection { stream, counted, .. } = *connection;
    let multiplex = Rc::new(Multiplex::new(stream, counted, need));
    match &mut *shared {
        SharedConnection::Http2(open) => open.push(Rc::clone(&multiplex)),
        other => *other = SharedConnection::Http2(vec![Rc::clone(&multiplex)]),
    }
    Joined::Connection(multiplex)
}

/// Sends one request as one stream. Returns its response, and when the last byte was read.
async fn stream(
    multiplex: &Rc<Multiplex>,
    outgoing: Http2Request<'_>,
    added: Option<TraceParent>,
    traits: &Traits,
    timer: &Timer,
    exchange: &mut Exchange,
) -> Result<(Response, Nanos), BrokenStream> {
    let network = multiplex.counted.network();
    let trailers = outgoing.head()?.trailers();
    let ends = trailers.is_none() && outgoing.body.iter().all(Bytes::is_empty);
    let plan = ResponsePlan { keep_from: traits.body_use.keep_from(), to_head: traits.to_head };
    let OpenStream { stream, permit: _permit } = begin_stream(multiplex, outgoing, added, (ends, plan), exchange).await?;
    let mut upload = Upload { pieces: outgoing.body, within_piece: 0, trailers, sent: 0, is_over: false };
    let sending = network.clock().now();
    let answered = poll_fn(|context| {
        if !upload.is_over {
            upload.progress(&stream, context);
        }
        stream.poll_head(context)
    });
    let answered = within(timer, "waiting for the response", answered).await;
    exchange.bytes_sent += std::mem::take(&mut upload.sent);
    exchange.phases.wait = network.clock().now() - sending;
    let (head, first_byte) = answered??;
    exchange.phases.wait = first_byte.saturating_sub(sending);
    let status = head.status.unwrap_or_default();
    exchange.bytes_received = head.bytes + STATUS_BYTES;
    network.count(|counts| counts.received += exchange.bytes_received);
    let mut arrived =
        ArrivedBody { kept: Vec::new(), total: 0, limit: if status >= plan.keep_from { traits.body_bytes_max } else { u64::MAX } };
    let received = poll_fn(|context| {
        if !upload.is_over {
            upload.progress(&stream, context);
        }
        arrived.poll(&stream, network, context)
    });
    let received = within(timer, "reading the body", received).await;
    exchange.bytes_sent += upload.sent;
    exchange.bytes_received += arrived.total;
    let response = Response { status, headers: Headers::of_http2(head), body: Bytes::from(arrived.kept), trailers: Headers::default() };
    let failed = match received {
        Ok(Ok((trailers, at))) => {
            exchange.phases.body = at - first_byte;
            exchange.bytes_received += trailers.as_ref().map_or(0, |trailers| trailers.bytes);
            return Ok((Response { trailers: trailers.map(Headers::of_http2).unwrap_or_default(), ..response }, at));
        }
        Ok(Err(broken)) => broken,
        Err(failure) => failure.into(),
    };
    exchange.phases.body = network.clock().now() - first_byte;
    exchange.answer = Some(Box::new(response));
    // Its response had begun.
    Err(BrokenStream { unprocessed: false, ..failed })
}

/// A stream whose request head has been passed to the connection.
pub(crate) struct OpenStream {
    pub(crate) stream: Http2Stream,
    /// Held as long as the stream exists.
    pub(crate) permit: StreamPermit,
}

/// Waits for a stream slot, and writes the request's head. `ends`: nothing follows the head.
async fn begin_stream(
    multiplex: &Rc<Multiplex>,
    outgoing: Http2Request<'_>,
    added: Option<TraceParent>,
    (ends, plan): (bool, ResponsePlan),
    exchange: &mut Exchange,
) -> Result<OpenStream, BrokenStream> {
    let head = outgoing.head()?;
    let permit = match multiplex.try_enter() {
        Some(permit) => permit,
        None => queue(multiplex.counted.network(), multiplex.enter(), FREE_STREAM, outgoing.request.timeout_ns, exchange).await??,
    };
    let added = added.map(|added| added.value());
    let added = added.as_deref().map(|value| (trace::NAME, value));
    exchange.bytes_sent += head.bytes() + added.map_or(0, |(name, value)| (name.len() + value.len()) as u64);
    let stream = Http2Stream::begin(&multiplex.connection, head, added, ends, plan)?;
    Ok(OpenStream { stream, permit })
}

/// Opens a stream whose body the caller sends and whose response the caller reads. The request's own body is not sent, and its time limit applies to
/// the opening. `None`: the exchange contains the reason.
pub(crate) async fn open(
    over: &SharedConnections<'_>,
    outgoing: Http2Request<'_>,
    trace_choice: TraceChoice,
    exchange: &mut Exchange,
) -> Option<OpenStream> {
    let request = outgoing.request;
    let traits = Traits::of(request);
    exchange.trace = trace_choice.parent().map(Box::new);
    loop {
        let Joined::Connection(multiplex) = join(over, request, &traits, true, exchange).await else { return None };
        let plan = ResponsePlan { keep_from: 0, to_head: false };
        match begin_stream(&multiplex, outgoing, trace_choice.added(), (false, plan), exchange).await {
            Ok(opened) => {
                poll_fn(|context| {
                    opened.stream.pass_on(context);
                    Poll::Ready(())
                })
                .await;
                return Some(opened);
            }
            // The connection had ended before: no byte of the request was sent.
            Err(broken) if broken.unprocessed && exchange.retried == 0 => exchange.retried = 1,
            Err(broken) => {
                fail(over.network, exchange, broken.failure);
                return None;
            }
        }
    }
}

/// The rest of a request's body.
struct Upload<'a> {
    pieces: &'a [Bytes],
    /// Length of the sent part of the first piece.
    within_piece: usize,
    trailers: Option<&'a HeaderMap>,
    /// Bytes of the body and the trailers that were written.
    sent: u64,
    is_over: bool,
}

impl Upload<'_> {
    /// Writes as much as the server allows, and passes it on together with the request's head. A failed stream also fails for its reader.
    fn progress(&mut self, stream: &Http2Stream, context: &mut Context<'_>) {
        if let Poll::Ready(written) = self.poll_pieces(stream, context) {
            self.is_over = true;
            if let (Ok(()), Some(trailers)) = (written, self.trailers) {
                let fields = trailers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
                if stream.write_trailers(fields).is_ok() {
                    self.sent += fields_bytes(trailers);
                }
            }
        }
        stream.pass_on(context);
    }

    fn poll_pieces(&mut self, stream: &Http2Stream, context: &mut Context<'_>) -> Poll<Result<(), BrokenStream>> {
        while let Some((piece, rest)) = self.pieces.split_first() {
            let left = &piece[self.within_piece..];
            if left.is_empty() {
                (self.pieces, self.within_piece) = (rest, 0);
                continue;
            }
            let ends = self.trailers.is_none() && rest.iter().all(Bytes::is_empty);
            let written = ready!(stream.poll_write(context, left, ends))?;
            self.within_piece += written;
            self.sent += written as u64;
        }
        Poll::Ready(Ok(()))
    }
}

/// The part of a body that has arrived.
struct ArrivedBody {
    kept: Vec<u8>,
    /// Bytes, also of a body that is not kept.
    total: u64,
    /// A longer body fails. A body that is not kept may have any length.
    limit: u64,
}

impl ArrivedBody {
    /// Ready with the trailers, and when the last byte was read.
    fn poll(
        &mut self,
        stream: &Http2Stream,
        network: &Network,
        context: &mut Context<'_>,
    ) -> Poll<Result<(Option<DecodedBlock>, Nanos), BrokenStream>> {
        loop {
            let piece = ready!(stream.poll_body(context))?;
            self.total += piece.bytes;
            network.count(|counts| counts.received += piece.bytes);
            if self.total > self.limit {
                return Poll::Ready(Err(too_large().into()));
            }
            if self.kept.is_empty() {
                self.kept = piece.stored;
            } else {
                self.kept.extend_from_slice(&piece.stored);
            }
            if let Some(end) = piece.end {
                return Poll::Ready(Ok((end.trailers, end.at)));
            }
        }
    }
}
