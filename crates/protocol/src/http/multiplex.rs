//! A connection that several requests share.

use ::h2::client::SendRequest;
use bytes::Bytes;
use futures_util::FutureExt;

use crate::connection::Counted;

/// An open HTTP/2 connection. A task of its own moves its bytes, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Multiplex {
    pub(super) sender: SendRequest<Bytes>,
    pub(super) counted: Counted,
}

impl Multiplex {
    pub(super) fn is_usable(&self) -> bool {
        !matches!(self.sender.clone().ready().now_or_never(), Some(Err(_)))
    }
}
