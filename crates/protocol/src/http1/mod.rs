//! The bytes of HTTP/1.1 responses: no sockets, no time.
//!
//! Read [`ResponseReader`] first. This is below the network, since proxies respond in HTTP/1.1, too. The client is `http`.

mod chunked;
mod head;
mod known_heads;
mod response;

pub(crate) use known_heads::KnownHeads;
pub(crate) use response::{ReadPlan, ResponseReader, too_large};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::chunked::{Chunked, EXTENSION_BYTES_MAX, TRAILER_BYTES_MAX};
}
