//! WebSocket (RFC 6455) as a load generator needs it: exact instants, a few hundred bytes per idle connection.
//!
//! Read [`Socket`] first; [`open`] makes one. Inside, `frame` writes frames, `reader` makes messages of whatever bytes
//! arrive (no sockets), `deflate` is permessage-deflate without context, so that no connection keeps a window.
//! Deliberately absent: queues of messages (the caller reads when it wants to, the kernel holds what waits), matching.

mod deflate;
mod frame;
mod open;
mod reader;
mod socket;

pub(crate) use deflate::Deflate;
pub use open::{Opening, SocketOptions, open};
pub use socket::{Close, Message, Payload, Pong, Received, Sent, Socket};

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::deflate::Deflate;
    pub(crate) use super::reader::{Item, MessageReader, Violation, unpacking};
}
