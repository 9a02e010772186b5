//! A connection that several requests share.

use std::rc::Rc;

use ::h2::client::SendRequest;
use bytes::Bytes;
use futures_util::FutureExt;

use super::places::Places;
use crate::connection::Counted;

/// An open HTTP/2 connection. A separate task moves its bytes, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Multiplex {
    pub(super) sender: SendRequest<Bytes>,
    pub(super) counted: Counted,
    /// Stream slots. h2 has its own queue, but does not report when a request leaves it.
    places: Places,
}

impl Multiplex {
    pub(super) fn new(sender: SendRequest<Bytes>, counted: Counted) -> Self {
        Self { sender, counted, places: Places::default() }
    }

    /// The connection for the next request. `None`: another one should be opened first, up to `most`.
    pub(super) fn least_used(open: &[Rc<Self>], most: usize) -> Option<&Rc<Self>> {
        let least = open.iter().min_by_key(|multiplex| multiplex.places.taken())?;
        (open.len() >= most || least.places.none_taken()).then_some(least)
    }

    pub(super) fn is_usable(&self) -> bool {
        !matches!(self.sender.clone().ready().now_or_never(), Some(Err(_)))
    }

    /// Takes a stream slot, if the server allows one more.
    pub(super) fn try_enter(self: &Rc<Self>) -> Option<StreamPermit> {
        self.places.limit(self.sender.current_max_send_streams());
        self.places.try_enter().then(|| StreamPermit(Rc::clone(self)))
    }

    /// Waits until another request has ended, in the order of the calls.
    pub(super) async fn enter(self: &Rc<Self>) -> StreamPermit {
        self.places.enter().await;
        StreamPermit(Rc::clone(self))
    }
}

/// One request's stream slot. The connection exists as long as any request has one.
#[derive(Debug)]
pub(crate) struct StreamPermit(Rc<Multiplex>);

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let Self(multiplex) = self;
        multiplex.places.limit(multiplex.sender.current_max_send_streams());
        multiplex.places.leave();
    }
}
