//! Forwards the bytes of one connection, one loop for each direction, and records the requests that they contain.
//!
//! A direction reads again only after it has sent on what it read, so a slow reader holds up the writer, and memory is bounded: an idle connection has no
//! buffer, and any other one has a piece and a head for each direction. All bytes are sent on, also those that are no complete message at the end.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::{Nanos, Outcome};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::exchange::{AwaitedRequest, ProxiedExchange};
use super::framing::{MessageFraming, MessageHead, MessageKind, NotHttp, SwitchedProtocol};
use super::stamped::StampedSocket;

/// Size of one read. A buffer holds one read and a head that is not complete. Bytes.
const PIECE_BYTES: usize = 16 << 10;
/// A client that has ended its side may still read. It has given up the requests that get no response within this time. Less than the seconds that a
/// watch holds open, so that such a request counts in the second in which the client ended.
const ABANDONED_AFTER: Duration = Duration::from_secs(5);
/// A wait in the kernel exceeds that of the read by no more than this, unless the wall clock was set or the direction was held up. Nanoseconds.
const WAIT_NS_MAX: Nanos = 100_000_000;

thread_local! {
    /// Where all connections of the thread read.
    static PIECE: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE_BYTES]);
}

/// One side of the connection failed: the other one is to see that, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Broken;

/// Where a direction reads.
pub(super) struct Inlet<R> {
    from: R,
    /// `None`: there is no socket, so that nothing is known about waits.
    socket: Option<Rc<StampedSocket>>,
    zero: Monotonic,
    buffer: BytesMut,
    /// Since when its receiver does not hold up this direction.
    free_since: Nanos,
    pub(super) bytes: u64,
}

impl<R: AsyncRead + Unpin> Inlet<R> {
    pub(super) fn new(from: R, socket: Option<Rc<StampedSocket>>, zero: Monotonic) -> Self {
        Self { from, socket, zero, buffer: BytesMut::new(), free_since: zero.now(), bytes: 0 }
    }

    /// Adds bytes to the buffer. Returns when the last of them arrived at this machine. `None`: the sender has ended.
    pub(super) async fn read(&mut self) -> io::Result<Option<Nanos>> {
        let asked_at = self.zero.now();
        let (from, buffer) = (&mut self.from, &mut self.buffer);
        let read = std::future::poll_fn(|context| {
            PIECE.with_borrow_mut(|piece| {
                let mut piece = ReadBuf::new(piece);
                ready!(Pin::new(&mut *from).poll_read(context, &mut piece))?;
                buffer.extend_from_slice(piece.filled());
                Poll::Ready(io::Result::Ok(piece.filled().len()))
            })
        });
        let count = read.await?;
        if count == 0 {
            return Ok(None);
        }
        self.bytes += count as u64;
        let now = self.zero.now();
        let wait = self.socket.as_ref().and_then(|socket| socket.take_wait()).filter(|wait| *wait <= now - asked_at + WAIT_NS_MAX);
        Ok(Some(now.saturating_sub(wait.unwrap_or(0))))
    }

    pub(super) fn received(&self) -> &[u8] {
        &self.buffer
    }

    pub(super) fn into_inner(self) -> R {
        self.from
    }
}

/// How a piece was sent on.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Nanos,
    /// When the receiver made the proxy wait.
    held_at: Option<Nanos>,
}

impl Sent {
    /// Time that the proxy added to a piece that arrived at this instant. Nanoseconds.
    fn delay_ns(self, arrived_at: Nanos) -> u64 {
        self.held_at.unwrap_or(self.at).saturating_sub(arrived_at)
    }
}

async fn send(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8], zero: Monotonic) -> io::Result<Sent> {
    let mut held_at = None;
    let mut write = pin!(async {
        to.write_all(bytes).await?;
        to.flush().await
    });
    std::future::poll_fn(|context| {
        let written = write.as_mut().poll(context);
        if written.is_pending() {
            held_at.get_or_insert_with(|| zero.now());
        }
        written
    })
    .await?;
    Ok(Sent { at: zero.now(), held_at })
}

/// What a piece of requests contains.
#[derive(Default)]
struct RequestPiece {
    bytes: usize,
    /// Numbers of the requests that end in it.
    ended: Vec<u64>,
    /// Values of `Host` in it.
    hosts: Vec<Range<usize>>,
}

/// Forwards requests. `authority`: the value of `Host` that replaces the client's.
pub(super) async fn requests(
    inlet: &mut Inlet<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    exchange: &ProxiedExchange,
    authority: Option<&str>,
) -> Result<(), Broken> {
    let zero = inlet.zero;
    let mut parser = RequestParser::default();
    loop {
        exchange.room().await;
        let arrived_at = match inlet.read().await {
            Ok(Some(arrived_at)) => arrived_at,
            Ok(None) => {
                exchange.client_ended_at.set(Some(zero.now()));
                // A head that is not complete. If the target takes it no more, there is nothing to do.
                let _ = send(to, &inlet.buffer, zero).await;
                let _ = to.shutdown().await;
                if tokio::time::timeout(ABANDONED_AFTER, exchange.all_answered()).await.is_err() {
                    exchange.abort(Vec::new()).await;
                }
                return Ok(());
            }
            Err(_) => {
                exchange.abort(Vec::new()).await;
                return Err(Broken);
            }
        };
        let piece = match parser.parse(&inlet.buffer, arrived_at, exchange) {
            Ok(piece) => piece,
            Err(NotHttp(why)) => {
                exchange.passes_requests.set(true);
                exchange.not_recorded(format!("a client sends {why}")).await;
                RequestPiece { bytes: inlet.buffer.len(), ..RequestPiece::default() }
            }
        };
        let bytes = &inlet.buffer[..piece.bytes];
        let replaced = authority.filter(|_| !piece.hosts.is_empty()).map(|authority| with_hosts(bytes, &piece.hosts, authority));
        // What the target answers, or its end, decides about the requests.
        let Ok(sent) = send(to, replaced.as_deref().unwrap_or(bytes), zero).await else { return Ok(()) };
        let delay_ns = sent.delay_ns(arrived_at.max(inlet.free_since).max(exchange.connected_at));
        for number in piece.ended {
            exchange.change(number, |request| (request.forwarded_at, request.delay_ns) = (Some(sent.at), delay_ns));
        }
        inlet.sent_on(piece.bytes, sent);
    }
}

impl<R> Inlet<R> {
    fn sent_on(&mut self, bytes: usize, sent: Sent) {
        self.buffer.advance(bytes);
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
        if sent.held_at.is_some() {
            self.free_since = sent.at;
        }
    }
}

#[derive(Default)]
struct RequestParser {
    framing: MessageFraming,
    /// The request whose bytes arrive.
    current: u64,
    /// When the first byte of a head that is not complete arrived.
    head_began_at: Option<Nanos>,
}

impl RequestParser {
    fn parse(&mut self, buffer: &[u8], arrived_at: Nanos, exchange: &ProxiedExchange) -> Result<RequestPiece, NotHttp> {
        let mut piece = RequestPiece::default();
        if exchange.passes_requests.get() {
            piece.bytes = buffer.len();
            return Ok(piece);
        }
        while let Some(part) = self.framing.next(&buffer[piece.bytes..], MessageKind::Request)? {
            if let Some(MessageHead::Request { method, name, host }) = part.head {
                self.current = exchange.begin(method, name, self.head_began_at.take().unwrap_or(arrived_at));
                piece.hosts.extend(host.map(|host| host.start + piece.bytes..host.end + piece.bytes));
            }
            exchange.change(self.current, |request| request.bytes_sent += part.bytes as u64);
            piece.bytes += part.bytes;
            if part.ends {
                piece.ended.push(self.current);
            }
        }
        if self.framing.is_between() && piece.bytes < buffer.len() {
            self.head_began_at.get_or_insert(arrived_at);
        }
        Ok(piece)
    }
}

fn with_hosts(bytes: &[u8], hosts: &[Range<usize>], authority: &str) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len() + hosts.len() * authority.len());
    let mut from = 0;
    for host in hosts {
        replaced.extend_from_slice(&bytes[from..host.start]);
        replaced.extend_from_slice(authority.as_bytes());
        from = host.end;
    }
    replaced.extend_from_slice(&bytes[from..]);
    replaced
}

/// Forwards responses.
pub(super) async fn responses(
    inlet: &mut Inlet<impl AsyncRead + Unpin>,
    to: &mut (impl AsyncWrite + Unpin),
    exchange: &ProxiedExchange,
) -> Result<(), Broken> {
    let zero = inlet.zero;
    let mut framing = MessageFraming::default();
    let mut last_delay_ns = 0;
    loop {
        let arrived_at = match inlet.read().await {
            Ok(Some(arrived_at)) => arrived_at,
            Ok(None) => {
                if let Some(request) = exchange.answered().filter(|_| framing.ends_with_connection()).and_then(|_| exchange.take_answered())
                {
                    match exchange.is_delivered().await {
                        true => exchange.complete(request, zero.now(), last_delay_ns).await,
                        false => exchange.abort(vec![request]).await,
                    }
                }
                // Servers close a connection whose client has ended it, but not in the middle of a response that the client takes.
                let breaks_off = !framing.is_between() && !framing.ends_with_connection();
                if exchange.client_ended_at.get().is_some() && !(breaks_off && exchange.is_delivered().await) {
                    exchange.abort(Vec::new()).await;
                }
                exchange.fail(zero.now(), Outcome::Reset, "the target closed the connection before the response was complete").await;
                let _ = send(to, &inlet.buffer, zero).await;
                let _ = to.shutdown().await;
                return Ok(());
            }
            Err(_) => {
                exchange.fail(zero.now(), Outcome::Reset, "the target reset the connection before the response was complete").await;
                return Err(Broken);
            }
        };
        let mut complete = Vec::new();
        let bytes = match parse_responses(&mut framing, &inlet.buffer, arrived_at, exchange, &mut complete) {
            Ok(bytes) => bytes,
            Err(NotHttp(why)) => {
                exchange.fail(zero.now(), Outcome::Protocol, &format!("the target sent {why}")).await;
                exchange.passes_all();
                exchange.not_recorded(format!("the target sends {why}")).await;
                inlet.buffer.len()
            }
        };
        let sent = send(to, &inlet.buffer[..bytes], zero).await.ok();
        let sent = match sent {
            Some(sent) if complete.is_empty() || exchange.is_delivered().await => sent,
            _ => {
                exchange.abort(complete).await;
                return Err(Broken);
            }
        };
        last_delay_ns = sent.delay_ns(arrived_at.max(inlet.free_since));
        for request in complete {
            exchange.complete(request, sent.at, last_delay_ns).await;
        }
        inlet.sent_on(bytes, sent);
        if let Some(why) = exchange.switched_to.take().and_then(unrecorded) {
            exchange.not_recorded(why.to_owned()).await;
        }
    }
}

/// Why what follows has no record. `None`: nobody expects one.
fn unrecorded(protocol: SwitchedProtocol) -> Option<&'static str> {
    match protocol {
        SwitchedProtocol::WebSocket => None,
        SwitchedProtocol::Http2 => Some("a connection switched to HTTP/2, which the proxy passes on without recording it"),
        SwitchedProtocol::Other => Some("a connection switched to another protocol, which the proxy passes on without recording it"),
    }
}

/// Returns how many bytes can be sent on, and adds the requests whose responses end in them.
fn parse_responses(
    framing: &mut MessageFraming,
    buffer: &[u8],
    arrived_at: Nanos,
    exchange: &ProxiedExchange,
    complete: &mut Vec<AwaitedRequest>,
) -> Result<usize, NotHttp> {
    let mut bytes = 0;
    // What nobody has asked for is no response: a server may announce that it closes an idle connection.
    while let Some(method) = exchange.answered().filter(|_| !exchange.passes_responses.get()) {
        let Some(part) = framing.next(&buffer[bytes..], MessageKind::Response(method))? else { return Ok(bytes) };
        bytes += part.bytes;
        exchange.change_answered(|request| {
            request.bytes_received += part.bytes as u64;
            if let Some(MessageHead::Response { status, .. }) = part.head {
                (request.status, request.answered_at) = (status, Some(arrived_at));
            }
        });
        if let Some(MessageHead::Response { switches: Some(protocol), .. }) = part.head {
            exchange.passes_all();
            exchange.switched_to.set(Some(protocol));
        }
        if part.ends {
            complete.extend(exchange.take_answered());
        }
    }
    Ok(buffer.len())
}
