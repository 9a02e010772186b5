//! One request over one connection: write, wait and read under a time limit.

use std::io;
use std::task::{Context, Poll};

use loadstone_metrics::Nanos;
use loadstone_metrics::clock::Timer;

use super::body::SharedBody;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::http1::ResponseReader;
use crate::late_reads::LateRead;
use crate::network::Network;
use crate::tcp;

/// A larger response may fill the socket's buffer, and is read at once.
const LATE_READ_RESPONSE_BYTES_MAX: usize = 16 * 1024;

/// How long a body waits for the status 100, as in curl. A server that does not know `Expect` would otherwise wait for the body for ever.
const CONTINUE_WAIT_NS: u64 = 1_000_000_000;

/// The bytes of a request, and how many of them were written.
#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) head: RequestHead<'a>,
    pub(crate) body: &'a SharedBody,
    pub(crate) sent: usize,
    /// The body is sent when the server has asked for it, or does not answer for [`CONTINUE_WAIT_NS`].
    pub(crate) expects_continue: bool,
}

#[derive(Debug)]
pub(crate) enum RequestHead<'a> {
    Prepared(&'a [u8]),
    /// In the worker's send buffer, which is returned when everything is written.
    Built(Vec<u8>),
}

impl RequestHead<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Prepared(bytes) => bytes,
            Self::Built(bytes) => bytes,
        }
    }
}

/// The state of one request on one connection.
pub(crate) struct InFlightRequest<'a> {
    pub(crate) network: &'a Network,
    pub(crate) connection: &'a mut Connection,
    pub(crate) out: OutgoingRequest<'a>,
    pub(crate) response: ResponseReader,
    pub(crate) times: ExchangeTimes,
    /// When the exchange began. Nothing of it happened before.
    started: Nanos,
    /// The peer ended its side of the connection before the response was complete.
    pub(crate) closed: bool,
    /// The peer sent more than the response.
    pub(crate) surplus: bool,
    /// After a protocol switch: the bytes of the new protocol that have already arrived.
    pub(crate) rest: Vec<u8>,
    sending: bool,
    /// Runs while the body waits for the status 100.
    continue_limit: Option<Timer>,
    /// The request was sent, and the first byte of its response may be read late.
    late: Option<LateRead>,
    /// Writing failed. The response may still be readable.
    write_failure: Option<Failure>,
}

/// Instants of one exchange. Zero until they happen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExchangeTimes {
    /// The last byte of the request was passed to the kernel.
    pub(crate) sent: Nanos,
    pub(crate) first_byte: Nanos,
    pub(crate) ended: Nanos,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

impl<'a> InFlightRequest<'a> {
    /// `started`: when its exchange began.
    pub(crate) fn new(
        network: &'a Network,
        connection: &'a mut Connection,
        out: OutgoingRequest<'a>,
        response: ResponseReader,
        started: Nanos,
    ) -> Self {
        connection.stamp(network.late_reads.are_allowed() || network.takes_stamp());
        Self {
            network,
            connection,
            out,
            response,
            times: ExchangeTimes::default(),
            started,
            closed: false,
            surplus: false,
            rest: Vec::new(),
            sending: true,
            continue_limit: None,
            late: None,
            write_failure: None,
        }
    }

    /// Whether the connection may serve another request.
    pub(crate) fn is_reusable(&self) -> bool {
        self.response.keep_alive && !self.surplus && !self.sending && self.write_failure.is_none()
    }

    /// Ready when the response is complete or has failed.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.sending
            && let Poll::Ready(result) = self.poll_send(context)
        {
            self.sending = false;
            self.times.sent = self.network.clock().now();
            match result {
                Ok(()) => {
                    self.recycle();
                    let late = self.connection.may_be_late && self.network.late_reads.are_allowed();
                    self.late = late.then(|| self.network.late_reads.wait());
                }
                // A server may respond and close before it has read everything. Its response matters more than the close.
                Err(error) => self.write_failure = Some(Failure::broken(&error)),
            }
        }
        let asked_before = self.response.continued;
        if let Poll::Ready(result) = self.poll_receive(context) {
            return Poll::Ready(result);
        }
        if self.sending && self.response.continued && !asked_before {
            return self.poll(context);
        }
        if self.connection.timer.poll_fired(context).is_ready() {
            let doing = match () {
                () if self.sending => "sending the request",
                () if self.response.in_body() => "reading the body",
                () => "waiting for the response",
            };
            return Poll::Ready(self.failed(Failure::timeout(doing)));
        }
        Poll::Pending
    }

    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = &mut self.connection.stream;
        let head = self.out.head.bytes();
        let whole = head.len() + self.out.body.len();
        let total = if self.out.expects_continue && !self.response.continued { head.len() } else { whole };
        while self.out.sent < total {
            let (first, second) = match head.get(self.out.sent..) {
                Some(rest) if !rest.is_empty() && total < whole => (rest, &[][..]),
                Some(rest) if !rest.is_empty() => (rest, self.out.body.slices_after(0).0),
                _ => self.out.body.slices_after(self.out.sent - head.len()),
            };
            match stream.poll_write(context, first, second) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                Poll::Ready(Ok(written)) => {
                    self.out.sent += written;
                    self.times.bytes_sent += written as u64;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        if total == whole {
            return stream.poll_flush(context);
        }
        if let Poll::Ready(Err(error)) = stream.poll_flush(context) {
            return Poll::Ready(Err(error));
        }
        let clock = self.network.clock();
        let limit = self.continue_limit.get_or_insert_with(|| {
            let timer = clock.timer();
            timer.reset(clock.now().saturating_add(CONTINUE_WAIT_NS));
            timer
        });
        if limit.poll_fired(context).is_pending() {
            return Poll::Pending;
        }
        self.out.expects_continue = false;
        self.poll_send(context)
    }

    fn recycle(&mut self) {
        if let RequestHead::Built(buffer) = &mut self.out.head {
            self.network.return_send_buffer(std::mem::take(buffer));
        }
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let network = self.network;
        loop {
            let mut scratch = network.scratch();
            let count = match self.connection.stream.poll_read(context, &mut scratch) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(self.closed()),
                Poll::Ready(Ok(count)) => count,
                Poll::Ready(Err(error)) => {
                    let failure = self.write_failure.take().unwrap_or_else(|| Failure::broken(&error));
                    return Poll::Ready(self.failed(failure));
                }
            };
            let lag_ns = self.connection.stream.take_lag_ns();
            let now = self.arrived(network.clock().now(), lag_ns);
            self.connection.may_be_late = self.times.bytes_received == 0 && lag_ns.is_some() && count <= LATE_READ_RESPONSE_BYTES_MAX;
            if self.times.first_byte == 0 {
                self.times.first_byte = now;
            }
            self.times.bytes_received += count as u64;
            network.count(|counts| counts.received += count as u64);
            let used = match self.response.feed_after(&mut network.known_heads.borrow_mut(), &scratch[..count]) {
                Ok(used) => used,
                Err(failure) => return Poll::Ready(self.failed(failure)),
            };
            self.surplus = used < count;
            if self.response.is_done() || self.response.streaming {
                self.times.ended = now;
                if self.response.status == 101 {
                    self.rest.extend_from_slice(&scratch[used..count]);
                }
                return Poll::Ready(Ok(()));
            }
            if self.response.is_untouched() {
                // Only interim responses so far (100, 103): the wait continues.
                self.times.first_byte = 0;
            }
        }
    }

    /// When bytes arrived that were read at `now`: from the kernel's timestamp if they may have been read late. Records how long they waited in the
    /// kernel, as far as that is part of the response's time.
    fn arrived(&mut self, now: Nanos, lag_ns: Option<u64>) -> Nanos {
        let late = self.late.take();
        let lag_ns = lag_ns.filter(|&lag_ns| tcp::is_possible(lag_ns, now.saturating_sub(self.started)));
        match lag_ns {
            Some(lag_ns) if late.is_some() => {
                self.network.read_after(0);
                let arrived = now.saturating_sub(lag_ns).max(self.started);
                // On a busy core, the response may have arrived before the clock was read for the request, which had been sent by then.
                self.times.sent = self.times.sent.min(arrived);
                arrived
            }
            Some(lag_ns) => {
                self.network.read_after(lag_ns);
                now
            }
            None => {
                // This response lacks the timestamp that the connection's last one had. Its wait in the kernel is unknown, but not longer.
                if late.is_some() {
                    self.network.read_after(now.saturating_sub(self.times.sent).min(self.network.late_reads.max_ns()));
                }
                now
            }
        }
    }

    /// The peer has closed the connection.
    fn closed(&mut self) -> Result<(), Failure> {
        self.closed = true;
        self.times.ended = self.network.clock().now();
        self.response.finish().map_err(|failure| self.write_failure.take().unwrap_or(failure))
    }

    fn failed(&mut self, failure: Failure) -> Result<(), Failure> {
        self.times.ended = self.network.clock().now();
        Err(failure)
    }
}
