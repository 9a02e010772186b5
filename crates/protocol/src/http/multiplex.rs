//! A connection that several requests share.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use loadstone_metrics::Nanos;

use super::places::Places;
use crate::connection::Counted;
use crate::http2::{BrokenStream, Http2Connection, Http2Need};
use crate::stream::NetworkStream;

/// Streams until the server's limit is known. The first request does not wait: it could only be refused by a server that allows none.
const STREAMS_BEFORE_SETTINGS: usize = 1;
/// Assumed limit if the server sends no SETTINGS in time: the recommended minimum (RFC 9113, section 6.5.2).
const STREAMS_ASSUMED: usize = 100;
/// How long further requests wait for the SETTINGS, which a server must send first (RFC 9113, section 3.4).
const SETTINGS_WAIT_NS: u64 = 1_000_000_000;

/// An open HTTP/2 connection. A separate task moves its bytes, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Multiplex {
    pub(super) connection: Rc<Http2Connection>,
    pub(super) counted: Counted,
    /// Stream slots.
    places: Places,
    /// Until when requests wait for the server's SETTINGS.
    settings_due: Nanos,
    /// The SETTINGS did not arrive in time.
    assumes: Cell<bool>,
}

impl Multiplex {
    /// Starts the task that moves the connection's bytes.
    pub(super) fn new(stream: NetworkStream, counted: Counted, need: Http2Need) -> Self {
        let settings_due = counted.network().clock().now().saturating_add(SETTINGS_WAIT_NS);
        let connection = Http2Connection::start(stream, counted.network(), need);
        Self { connection, counted, places: Places::default(), settings_due, assumes: Cell::default() }
    }

    /// Whether it takes more streams.
    pub(super) fn is_open(&self) -> bool {
        self.connection.streams().borrow().is_open()
    }

    /// The connection for the next request. `None`: another one should be opened first, up to `most`.
    pub(super) fn least_used(open: &[Rc<Self>], most: usize) -> Option<&Rc<Self>> {
        let least = open.iter().min_by_key(|multiplex| multiplex.places.taken())?;
        (open.len() >= most || least.places.none_taken()).then_some(least)
    }

    /// Takes a stream slot, if the server allows one more.
    pub(super) fn try_enter(self: &Rc<Self>) -> Option<StreamPermit> {
        self.update_limit();
        self.places.try_enter().then(|| StreamPermit(Rc::clone(self)))
    }

    /// Waits until another request has ended, or the server allows more, in the order of the calls.
    ///
    /// # Errors
    /// The connection takes no more streams.
    pub(super) async fn enter(self: &Rc<Self>) -> Result<StreamPermit, BrokenStream> {
        let mut entering = pin!(self.places.enter());
        let settings_timer = self.counted.network().clock().timer();
        settings_timer.reset(self.settings_due);
        poll_fn(|context| {
            if entering.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(StreamPermit(Rc::clone(self))));
            }
            if self.waits_for_settings() && settings_timer.poll_due(context).is_ready() {
                self.assumes.set(true);
            }
            self.update_limit();
            self.places.admit();
            if entering.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(StreamPermit(Rc::clone(self))));
            }
            let mut streams = self.connection.streams().borrow_mut();
            if !streams.is_open() {
                return Poll::Ready(Err(streams.refusal()));
            }
            streams.on_change(context.waker());
            Poll::Pending
        })
        .await
    }

    fn waits_for_settings(&self) -> bool {
        !self.assumes.get() && self.connection.streams().borrow().streams_max().is_none()
    }

    fn update_limit(&self) {
        self.places.limit(match self.connection.streams().borrow().streams_max() {
            None if self.assumes.get() => STREAMS_ASSUMED,
            None => STREAMS_BEFORE_SETTINGS,
            Some(known) => known,
        });
    }
}

impl Drop for Multiplex {
    fn drop(&mut self) {
        self.connection.close();
    }
}

/// One request's stream slot. The connection exists as long as any request has one.
#[derive(Debug)]
pub(crate) struct StreamPermit(Rc<Multiplex>);

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Self(multiplex) = self;
        multiplex.update_limit();
        multiplex.places.leave();
    }
}
