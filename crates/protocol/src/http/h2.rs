//! HTTP/2 with the h2 crate: one connection per user and origin, whose requests run in parallel.
//!
//! h2 decides when bytes go to the kernel. `started` is therefore when a request was passed to h2, and byte counts are those of header fields before
//! compression and of bodies. Requests wait in order while the server allows no more streams, and all but the first wait for the server's SETTINGS.

use std::cell::OnceCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use ::h2::client::{Builder, ResponseFuture, SendRequest};
use ::h2::{Reason, RecvStream, SendStream};
use ::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use loadstone_metrics::clock::Timer;
use tokio::sync::watch;

use super::exchange::{QUEUE, decoded, fail, open_to, queue};
use super::h2_head::{Http2Head, fields_bytes};
use super::h2_peer::{Http2Need, PeerWatch, WatchedStream};
use super::headers::Headers;
use super::message::{Exchange, Request, Response};
use super::multiplex::{Multiplex, STREAMS_UNKNOWN, StreamPermit};
use super::pool::{OriginPool, SharedConnection};
use super::trace::TraceParent;
use super::trace_choice::TraceChoice;
use super::wire::{Traits, check};
use crate::connect::within;
use crate::connection::{Connection, Counted};
use crate::failure::Failure;
use crate::http1::too_large;
use crate::network::Network;
use crate::proxies::ProxiedScheme;
use crate::stream::NetworkStream;
use crate::target::ConnectTarget;
use crate::tls::Alpn;
use crate::tls_failure::NO_COMMON_PROTOCOL;

/// HTTP/2 if the server supports it.
const ALPN: Alpn = &["h2", "http/1.1"];
/// Offered if nothing else is sent: a server that prefers HTTP/1.1 would choose it.
const ALPN_ALONE: Alpn = &["h2"];

/// Windows in bytes that let a body flow at the speed of a fast network.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// A body up to this length is passed to h2 at once, which holds it until the server's windows have room for it. Head and body are then one write. The
/// wait for room begins only when the head has been written, and each of its ends would be another write. The smallest frame size that a server may set.
const SMALL_BODY_BYTES_MAX: usize = 16 * 1024;
/// Longest header list in bytes, counted as in RFC 9113, section 6.5.2.
const HEADERS_BYTES_MAX: u32 = 256 * 1024;

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
        let (multiplex, sender) = match join(over, request, &traits, always, &mut exchange).await {
            Joined::Connection(multiplex, sender) => (multiplex, sender),
            Joined::Failed => return Http2Attempt::Http2(exchange),
            Joined::Http1 => return Http2Attempt::Http1(exchange),
        };
        exchange.peer = Some(multiplex.counted.peer());
        let streamed = stream((&multiplex, sender), outgoing, trace_choice.added(), &traits, &timer, &mut exchange).await;
        exchange.ended = network.clock().now();
        let unprocessed = streamed.as_ref().is_err_and(|broken| broken.unprocessed);
        if unprocessed && retry_idle_close && exchange.retried == 0 {
            exchange.retried = 1;
            continue;
        }
        exchange.result = streamed.map_err(|broken| broken.failure);
        return Http2Attempt::Http2(exchange);
    }
}

/// Opens a shared connection to the request's origin, unless there is one. The exchange has begun, and contains the reason of a failure.
pub(crate) async fn connect(over: &SharedConnections<'_>, request: &Request, exchange: &mut Exchange) -> bool {
    matches!(join(over, request, &Traits::of(request), true, exchange).await, Joined::Connection(..))
}

enum Joined {
    /// With a handle that was ready for a request, if one was needed to choose the connection.
    Connection(Rc<Multiplex>, Option<SendRequest<Bytes>>),
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
            let mut ready = None;
            open.retain(|multiplex| {
                let sender = multiplex.ready_sender();
                let is_usable = sender.is_some();
                ready = sender.map(|sender| (Rc::as_ptr(multiplex), sender)).or(ready.take());
                is_usable
            });
            if let Some(multiplex) = Multiplex::least_used(open, most) {
                let sender = ready.filter(|(of, _)| std::ptr::eq(*of, Rc::as_ptr(multiplex))).map(|(_, sender)| sender);
                return Joined::Connection(Rc::clone(multiplex), sender);
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
    let Connection { stream, timer, counted, .. } = *connection;
    match shake_hands(stream, counted, &timer, need).await {
        Ok(multiplex) => {
            match &mut *shared {
                SharedConnection::Http2(open) => open.push(Rc::clone(&multiplex)),
                other => *other = SharedConnection::Http2(vec![Rc::clone(&multiplex)]),
            }
            Joined::Connection(multiplex, None)
        }
        Err(failure) => {
            fail(network, exchange, failure);
            Joined::Failed
        }
    }
}

/// Sends the connection preface, and starts the task that moves the connection's bytes.
async fn shake_hands(stream: NetworkStream, counted: Counted, timer: &Timer, need: Http2Need) -> Result<Rc<Multiplex>, Failure> {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_max_send_streams(STREAMS_UNKNOWN)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HEADERS_BYTES_MAX);
    let peer = PeerWatch::new(need);
    let watched = WatchedStream::new(stream, peer.clone());
    let shaken = within(timer, "in the HTTP/2 handshake", builder.handshake::<_, Bytes>(watched)).await?;
    let (sender, mut connection) = shaken.map_err(|error| peer.failure(&error))?;
    let (limit, limits) = watch::channel(STREAMS_UNKNOWN);
    let mut known = STREAMS_UNKNOWN;
    // Errors of the connection reach every request on it. Nobody else needs them.
    tokio::spawn(poll_fn(move |context| {
        let polled = connection.poll_unpin(context);
        let most = connection.max_concurrent_send_streams();
        if std::mem::replace(&mut known, most) != most {
            limit.send_replace(most);
        }
        polled.map(drop)
    }));
    Ok(Rc::new(Multiplex::new(sender, counted, peer, limits)))
}

/// A request without a response.
struct BrokenStream {
    failure: Failure,
    /// The server declared that it has not begun to process the request, or never received it: it refused the stream, or ended the connection
    /// gracefully. The request may be resent with any method (RFC 9113, section 8.7).
    unprocessed: bool,
}

impl From<Failure> for BrokenStream {
    fn from(failure: Failure) -> Self {
        Self { failure, unprocessed: false }
    }
}

impl BrokenStream {
    fn of(error: &::h2::Error, peer: &PeerWatch) -> Self {
        // h2 reports a GOAWAY to the streams after the last one that the server processes, and to those that are not open yet.
        let left = error.is_go_away() && error.reason() == Some(Reason::NO_ERROR);
        let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        Self { failure: peer.failure(error), unprocessed: error.is_remote() && (left || refused) }
    }
}

/// Sends one request as one stream.
async fn stream(
    (multiplex, sender): (&Rc<Multiplex>, Option<SendRequest<Bytes>>),
    outgoing: Http2Request<'_>,
    added: Option<TraceParent>,
    traits: &Traits,
    timer: &Timer,
    exchange: &mut Exchange,
) -> Result<Response, BrokenStream> {
    let network = multiplex.counted.network();
    let clock = network.clock();
    let trailers = outgoing.head()?.trailers();
    let ends = trailers.is_none() && outgoing.body.iter().all(Bytes::is_empty);
    let OpenStream { response, upload, permit: _permit } =
        begin_stream((multiplex, sender), outgoing, added, ends, timer, exchange).await?;
    let sending = clock.now();
    let mut uploaded = 0;
    let peer = &multiplex.peer;
    let answered = {
        let upload = pin!(send_body(upload, outgoing.body, trailers, &mut uploaded));
        let both = async {
            match select(response, upload).await {
                // An early response ends the upload.
                Either::Left((response, _)) => response,
                Either::Right((Ok(()), response)) => response.await,
                Either::Right((Err(error), response)) => response.await.map_err(|_| error),
            }
        };
        within(timer, "waiting for the response", both).await
    };
    exchange.bytes_sent += uploaded;
    exchange.phases.wait = clock.now() - sending;
    let (parts, body) = answered?.map_err(|error| BrokenStream::of(&error, peer))?.into_parts();
    exchange.bytes_received = fields_bytes(&parts.headers) + 3;
    let first_byte = clock.now();
    network.count(|counts| counts.received += exchange.bytes_received);
    let mut arrived = ArrivedBody { kept: Vec::new(), bytes: &mut exchange.bytes_received };
    let received = within(timer, "reading the body", receive_body(network, body, (traits, parts.status), &mut arrived)).await;
    let body = Bytes::from(arrived.kept);
    exchange.phases.body = clock.now() - first_byte;
    let headers = Headers::from_map(parts.headers);
    let response = Response { status: parts.status.as_u16(), headers, body, trailers: Headers::default() };
    let failed = match received {
        Ok(Ok(trailers)) => return Ok(decoded(Response { trailers, ..response }, traits, exchange)?),
        Ok(Err(BodyFailure::Stream(error))) => BrokenStream::of(&error, peer),
        Ok(Err(BodyFailure::TooLarge)) => too_large().into(),
        Err(failure) => failure.into(),
    };
    exchange.answer = Some(Box::new(response));
    // Its response had begun.
    Err(BrokenStream { unprocessed: false, ..failed })
}

/// A stream whose request head has been passed to the connection.
pub(crate) struct OpenStream {
    pub(crate) response: ResponseFuture,
    pub(crate) upload: SendStream<Bytes>,
    /// Held as long as the stream exists.
    pub(crate) permit: StreamPermit,
}

/// Waits for a stream slot, and sends the request's head. `ends`: nothing follows the head.
async fn begin_stream(
    (multiplex, sender): (&Rc<Multiplex>, Option<SendRequest<Bytes>>),
    outgoing: Http2Request<'_>,
    added: Option<TraceParent>,
    ends: bool,
    timer: &Timer,
    exchange: &mut Exchange,
) -> Result<OpenStream, BrokenStream> {
    let (head, head_bytes) = outgoing.head()?.to_send(added);
    let peer = &multiplex.peer;
    let (permit, mut sender) = match (multiplex.try_enter(), sender) {
        (Some(permit), Some(sender)) => (permit, sender),
        (permit, _) => {
            let permit = match permit {
                Some(permit) => permit,
                None => queue(multiplex.counted.network(), multiplex.enter(), FREE_STREAM, outgoing.request.timeout_ns, exchange).await?,
            };
            // Never waits: this handle has no pending request.
            let ready = within(timer, FREE_STREAM, multiplex.sender.clone().ready()).await?;
            (permit, ready.map_err(|error| BrokenStream { failure: peer.failure(&error), unprocessed: true })?)
        }
    };
    exchange.bytes_sent += head_bytes;
    let (response, upload) = sender.send_request(head, ends).map_err(|error| BrokenStream::of(&error, peer))?;
    Ok(OpenStream { response, upload, permit })
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
    let timer = over.network.clock().timer();
    timer.reset(exchange.started.saturating_add(traits.timeout_ns));
    loop {
        let Joined::Connection(multiplex, sender) = join(over, request, &traits, true, exchange).await else { return None };
        match begin_stream((&multiplex, sender), outgoing, trace_choice.added(), false, &timer, exchange).await {
            Ok(stream) => return Some(stream),
            // The connection had ended before: no byte of the request was sent.
            Err(broken) if broken.unprocessed && exchange.retried == 0 => exchange.retried = 1,
            Err(broken) => {
                fail(over.network, exchange, broken.failure);
                return None;
            }
        }
    }
}

async fn send_body(
    mut stream: SendStream<Bytes>,
    pieces: &[Bytes],
    trailers: Option<&HeaderMap>,
    sent: &mut u64,
) -> Result<(), ::h2::Error> {
    let is_small = pieces.iter().map(Bytes::len).sum::<usize>() <= SMALL_BODY_BYTES_MAX;
    let mut pieces = pieces.iter().filter(|piece| !piece.is_empty()).peekable();
    while let Some(piece) = pieces.next() {
        let (mut rest, is_last) = (piece.clone(), pieces.peek().is_none());
        if is_small {
            *sent += rest.len() as u64;
            stream.send_data(rest, trailers.is_none() && is_last)?;
            continue;
        }
        while !rest.is_empty() {
            stream.reserve_capacity(rest.len());
            let granted = poll_fn(|context| stream.poll_capacity(context)).await;
            let Some(granted) = granted.transpose()? else { return Ok(()) };
            let frame = rest.split_to(granted.min(rest.len()));
            *sent += frame.len() as u64;
            stream.send_data(frame, trailers.is_none() && is_last && rest.is_empty())?;
        }
    }
    if let Some(trailers) = trailers {
        *sent += fields_bytes(trailers);
        stream.send_trailers(trailers.clone())?;
    }
    Ok(())
}

/// The part of a body that has arrived.
struct ArrivedBody<'a> {
    kept: Vec<u8>,
    /// All bytes of the exchange.
    bytes: &'a mut u64,
}

enum BodyFailure {
    Stream(::h2::Error),
    TooLarge,
}

impl From<::h2::Error> for BodyFailure {
    fn from(error: ::h2::Error) -> Self {
        Self::Stream(error)
    }
}

/// Returns the trailers.
async fn receive_body(
    network: &Network,
    mut stream: RecvStream,
    (traits, status): (&Traits, StatusCode),
    arrived: &mut ArrivedBody<'_>,
) -> Result<Headers, BodyFailure> {
    let mut total = 0u64;
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        total += piece.len() as u64;
        *arrived.bytes += piece.len() as u64;
        network.count(|counts| counts.received += piece.len() as u64);
        // A body that is not kept may have any length.
        if traits.body_use.keeps(status.as_u16()) {
            if total > traits.body_bytes_max {
                return Err(BodyFailure::TooLarge);
            }
            arrived.kept.extend_from_slice(&piece);
        }
        stream.flow_control().release_capacity(piece.len())?;
    }
    let trailers = stream.trailers().await?;
    *arrived.bytes += trailers.as_ref().map_or(0, fields_bytes);
    Ok(trailers.map(Headers::from_map).unwrap_or_default())
}
