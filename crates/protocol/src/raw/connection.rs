//! A raw connection, from its opening to its close.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use loadstone_metrics::{Nanos, Outcome};

use super::framing::{AnswerFraming, ReadUntil, UntilSearch};
use super::times::RawTimes;
use crate::connect::{connect, within};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::network::Network;
use crate::proxies::ProxiedScheme;
use crate::stream::NetworkStream;
use crate::target::ConnectTarget;
use crate::tcp;
use crate::tls::Alpn;

/// Offers nothing: the caller chooses the protocol.
const NO_ALPN: Alpn = &[];

/// The destination of a raw connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTarget {
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

impl RawTarget {
    /// `host:port`, or `[::1]:port`.
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// An open connection. One task may read while another writes. Dropping it closes it.
#[derive(Debug)]
pub struct RawConnection {
    network: Rc<Network>,
    state: RefCell<RawState>,
}

#[derive(Debug)]
struct RawState {
    /// `None`: closed by this side.
    connection: Option<Box<Connection>>,
    /// Bytes that have arrived before a read requested them. Bounded by the limit of a read.
    unread: BytesMut,
    /// When the last of them was read from the kernel.
    read_at: Nanos,
    peer_closed: bool,
    /// The reading task, to notify it of a close.
    reader: Option<Waker>,
}

impl RawConnection {
    /// Connects within the time limit, counted from the start of the step.
    ///
    /// # Errors
    /// Why there is no connection. The error ends the step.
    pub async fn open(network: &Rc<Network>, target: &RawTarget, timeout_ns: u64, times: &mut RawTimes) -> Result<Self, Failure> {
        let timer = network.clock().timer();
        timer.reset(times.started.saturating_add(timeout_ns));
        times.connected = true;
        if network.limits_connections() {
            Box::pin(network.enter()).await;
        }
        let to = ConnectTarget {
            host: &target.host,
            port: target.port,
            alpn: target.tls.then_some(NO_ALPN),
            tunnel: true,
            scheme: ProxiedScheme::Other,
            source: None,
        };
        let opened = connect(network, to, &timer, &mut times.phases).await;
        times.ended = network.clock().now();
        let connection = Connection::new(network, opened?, timer);
        let state = RawState { connection: Some(connection), unread: BytesMut::new(), read_at: 0, peer_closed: false, reader: None };
        Ok(Self { network: Rc::clone(network), state: RefCell::new(state) })
    }

    /// Continues with TLS, for protocols that first negotiate it in plain text. If it fails or is dropped, the connection is closed.
    ///
    /// # Errors
    /// Why TLS failed.
    pub(crate) async fn secure(&self, host: &str, due: Nanos) -> Result<(), Failure> {
        let taken = {
            let mut state = self.state.borrow_mut();
            // An attacker in the middle could have inserted these bytes (CVE-2021-23222).
            if !state.unread.is_empty() {
                return Err(Failure::new(Outcome::Tls, "the server sent more plain text where TLS should begin"));
            }
            state.connection.take()
        };
        let Connection { stream, timer, counted, .. } = *taken.ok_or_else(closed)?;
        let NetworkStream::Plain(socket) = stream else { return Err(Failure::unsendable("the connection already uses TLS")) };
        timer.reset(due);
        let secured = within(&timer, "in the TLS handshake", self.network.secure(host, socket, NO_ALPN)).await??;
        let stream = NetworkStream::Tls(Box::new(secured));
        self.state.borrow_mut().connection = Some(Box::new(Connection { stream, timer, may_be_late: false, counted }));
        Ok(())
    }

    /// The current time, for its steps.
    pub(crate) fn now(&self) -> Nanos {
        self.network.clock().now()
    }

    /// Passes all bytes to the kernel.
    ///
    /// # Errors
    /// The connection broke, was closed, or accepted them too slowly.
    pub async fn write(&self, bytes: &[u8], due: Nanos, times: &mut RawTimes) -> Result<(), Failure> {
        let (mut done, mut timer) = (0, None);
        let result = poll_fn(|context| {
            let polled = self.state.borrow_mut().poll_write(context, bytes, &mut done);
            if polled.is_ready() {
                return polled;
            }
            let timer = timer.get_or_insert_with(|| {
                let timer = self.network.clock().timer();
                timer.reset(due);
                timer
            });
            timer.poll_due(context).map(|()| Err(Failure::timeout("sending")))
        })
        .await;
        times.bytes_sent += done as u64;
        times.sent = self.network.clock().now();
        if result.is_err() {
            times.end(times.sent);
        }
        result
    }

    /// Reads an answer. Following bytes remain for the next read. One task at a time.
    ///
    /// # Errors
    /// No complete answer arrived in time, or the connection ended before it. The error ends the step.
    pub async fn read(&self, until: &ReadUntil, bytes_max: u64, due: Nanos, times: &mut RawTimes) -> Result<Bytes, Failure> {
        self.read_framed(&mut UntilSearch::new(until), bytes_max, due, times).await
    }

    pub(crate) async fn read_framed(
        &self,
        framing: &mut impl AnswerFraming,
        bytes_max: u64,
        due: Nanos,
        times: &mut RawTimes,
    ) -> Result<Bytes, Failure> {
        if let Some(connection) = &mut self.state.borrow_mut().connection {
            connection.timer.reset(due);
            connection.stamp(self.network.takes_stamp());
        }
        let mut has_waited = false;
        let result = poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if let Poll::Ready(result) = state.poll_read(context, &self.network, framing, (bytes_max, has_waited), times) {
                return Poll::Ready(result);
            }
            has_waited = true;
            let Some(connection) = &state.connection else { return Poll::Pending };
            let doing = if state.unread.is_empty() { "waiting for an answer" } else { "reading the answer" };
            connection.timer.poll_fired(context).map(|()| Err(Failure::timeout(doing)))
        })
        .await;
        let state = self.state.borrow();
        let ended = if result.is_ok() { state.read_at } else { self.network.clock().now() };
        times.bytes_received += result.as_ref().map_or(state.unread.len(), Bytes::len) as u64;
        times.end(ended);
        result
    }

    /// Whether no side has closed it, as far as is known.
    pub fn is_open(&self) -> bool {
        let state = self.state.borrow();
        state.connection.is_some() && !state.peer_closed
    }

    /// Whether it was closed on this side.
    pub fn is_closed(&self) -> bool {
        self.state.borrow().connection.is_none()
    }

    /// Whether it can no longer carry a request: the peer has closed it, or sent unexpected bytes. Costs no system call unless the kernel has
    /// reported an event.
    pub(crate) fn is_unusable(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let has_rest = state.peer_closed || !state.unread.is_empty();
        has_rest || state.connection.as_mut().is_none_or(|connection| connection.stream.is_unusable(&mut self.network.scratch()))
    }

    pub fn close(&self) {
        let mut state = self.state.borrow_mut();
        state.connection = None;
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }
}

impl RawState {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8], done: &mut usize) -> Poll<Result<(), Failure>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(Err(closed())) };
        let stream = &mut connection.stream;
        let result = loop {
            if *done == bytes.len() {
                break stream.poll_flush(context);
            }
            match stream.poll_write(context, &bytes[*done..], &[]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                Poll::Ready(Ok(count)) => *done += count,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        result.map_err(|error| Failure::broken(&error))
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        network: &Network,
        framing: &mut impl AnswerFraming,
        (bytes_max, has_waited): (u64, bool),
        times: &mut RawTimes,
    ) -> Poll<Result<Bytes, Failure>> {
        loop {
            if !self.unread.is_empty() && times.first_byte == 0 {
                times.first_byte = self.read_at.max(times.started);
            }
            match framing.whole(&self.unread) {
                Ok(Some(length)) => return Poll::Ready(Ok(self.take(length))),
                Ok(None) if self.unread.len() as u64 > bytes_max => return Poll::Ready(Err(too_long(bytes_max))),
                Ok(None) => {}
                Err(failure) => return Poll::Ready(Err(failure)),
            }
            if self.peer_closed {
                let whole = framing.ends_with_connection();
                let message = if self.unread.is_empty() {
                    "the server closed the connection"
                } else {
                    "the server closed the connection in the middle of the answer"
                };
                return Poll::Ready(if whole { Ok(self.take(self.unread.len())) } else { Err(Failure::new(Outcome::Reset, message)) });
            }
            let Some(connection) = &mut self.connection else { return Poll::Ready(Err(closed())) };
            let mut scratch = network.scratch();
            match connection.stream.poll_read(context, &mut scratch) {
                Poll::Pending => {
                    self.reader = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => {
                    self.peer_closed = true;
                    self.read_at = network.clock().now();
                }
                Poll::Ready(Ok(count)) => {
                    self.read_at = network.clock().now();
                    // An unexpected message may wait there as long as the caller likes, so its delay is not counted.
                    let call_ns = self.read_at.saturating_sub(times.started);
                    if let Some(lag_ns) = connection.stream.take_lag_ns().filter(|&lag_ns| has_waited && tcp::is_possible(lag_ns, call_ns))
                    {
                        network.read_after(lag_ns);
                    }
                    network.count(|counts| counts.received += count as u64);
                    self.unread.extend_from_slice(&scratch[..count]);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Failure::broken(&error))),
            }
        }
    }

    /// Takes an answer. A waiting connection owns no buffer.
    fn take(&mut self, length: usize) -> Bytes {
        if length == self.unread.len() { std::mem::take(&mut self.unread).freeze() } else { self.unread.split_to(length).freeze() }
    }
}

fn closed() -> Failure {
    Failure::new(Outcome::Closed, "the connection is closed")
}

fn too_long(bytes_max: u64) -> Failure {
    Failure::protocol(format!("the answer has more than {bytes_max} bytes (`bodyBytesMax`)"))
}
