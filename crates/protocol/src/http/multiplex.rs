//! A connection that several requests share.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use ::h2::client::SendRequest;
use bytes::Bytes;
use futures_util::FutureExt;
use loadstone_metrics::Nanos;
use tokio::sync::watch;

use super::h2_peer::PeerWatch;
use super::places::Places;
use crate::connection::Counted;

/// Passed to h2 as the limit until the server's SETTINGS have arrived. h2 replaces it by the server's limit, or by its maximum if there is none. No
/// server sends this value.
pub(super) const STREAMS_UNKNOWN: usize = 0x7fff_ff01;
/// Streams until the server's limit is known. The first request does not wait: it could only be refused by a server that allows none.
const STREAMS_BEFORE_SETTINGS: usize = 1;
/// Assumed limit if the server sends no SETTINGS in time: the recommended minimum (RFC 9113, section 6.5.2).
const STREAMS_ASSUMED: usize = 100;
/// How long further requests wait for the SETTINGS, which a server must send first (RFC 9113, section 3.4).
const SETTINGS_WAIT_NS: u64 = 1_000_000_000;

/// An open HTTP/2 connection. A separate task moves its bytes, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Multiplex {
    pub(super) sender: SendRequest<Bytes>,
    pub(super) counted: Counted,
    pub(super) peer: PeerWatch,
    /// Stream slots. h2 has its own queue, but does not report when a request leaves it.
    places: Places,
    /// The server's limit on streams, whenever it changes.
    limits: watch::Receiver<usize>,
    /// Until when requests wait for the server's SETTINGS.
    settings_due: Nanos,
    /// The SETTINGS did not arrive in time.
    assumes: Cell<bool>,
}

/// Why a waiting request was woken.
enum WokenBy {
    Entered,
    LimitChanged,
    /// The connection has ended.
    NoMoreLimits,
    SettingsDue,
}

impl Multiplex {
    pub(super) fn new(sender: SendRequest<Bytes>, counted: Counted, peer: PeerWatch, limits: watch::Receiver<usize>) -> Self {
        let settings_due = counted.network().clock().now().saturating_add(SETTINGS_WAIT_NS);
        Self { sender, counted, peer, places: Places::default(), limits, settings_due, assumes: Cell::default() }
    }

    /// The connection for the next request. `None`: another one should be opened first, up to `most`.
    pub(super) fn least_used(open: &[Rc<Self>], most: usize) -> Option<&Rc<Self>> {
        let least = open.iter().min_by_key(|multiplex| multiplex.places.taken())?;
        (open.len() >= most || least.places.none_taken()).then_some(least)
    }

    /// A handle for one request. `None`: the connection has ended. Never waits, since the handle has no pending request.
    pub(super) fn ready_sender(&self) -> Option<SendRequest<Bytes>> {
        self.sender.clone().ready().now_or_never()?.ok()
    }

    /// Takes a stream slot, if the server allows one more.
    pub(super) fn try_enter(self: &Rc<Self>) -> Option<StreamPermit> {
        self.update_limit();
        self.places.try_enter().then(|| StreamPermit(Rc::clone(self)))
    }

    /// Waits until another request has ended, or the server allows more, in the order of the calls.
    pub(super) async fn enter(self: &Rc<Self>) -> StreamPermit {
        let mut entering = pin!(self.places.enter());
        let mut limits = self.limits.clone();
        let settings_timer = self.counted.network().clock().timer();
        settings_timer.reset(self.settings_due);
        let mut is_open = true;
        loop {
            let woken = {
                let mut changed = pin!(limits.changed());
                let polled = poll_fn(|context| {
                    if entering.as_mut().poll(context).is_ready() {
                        return Poll::Ready(WokenBy::Entered);
                    }
                    if is_open && let Poll::Ready(change) = changed.as_mut().poll(context) {
                        return Poll::Ready(change.map_or(WokenBy::NoMoreLimits, |()| WokenBy::LimitChanged));
                    }
                    if self.waits_for_settings() && settings_timer.poll_due(context).is_ready() {
                        return Poll::Ready(WokenBy::SettingsDue);
                    }
                    Poll::Pending
                });
                polled.await
            };
            match woken {
                WokenBy::Entered => return StreamPermit(Rc::clone(self)),
                WokenBy::LimitChanged => {}
                WokenBy::NoMoreLimits => is_open = false,
                WokenBy::SettingsDue => self.assumes.set(true),
            }
            self.update_limit();
            self.places.admit();
        }
    }

    fn waits_for_settings(&self) -> bool {
        !self.assumes.get() && self.sender.current_max_send_streams() == STREAMS_UNKNOWN
    }

    fn update_limit(&self) {
        self.places.limit(match self.sender.current_max_send_streams() {
            STREAMS_UNKNOWN if self.assumes.get() => STREAMS_ASSUMED,
            STREAMS_UNKNOWN => STREAMS_BEFORE_SETTINGS,
            known => known,
        });
    }
}

/// One request's stream slot. The connection exists as long as any request has one.
#[derive(Debug)]
pub(crate) struct StreamPermit(Rc<Multiplex>);

impl StreamPermit {
    /// Words failures of the connection's streams.
    pub(crate) fn peer(&self) -> &PeerWatch {
        &self.0.peer
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Self(multiplex) = self;
        multiplex.update_limit();
        multiplex.places.leave();
    }
}
