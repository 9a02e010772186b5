//! WebSocket (RFC 6455) for a load generator: exact instants, a few hundred bytes per idle connection.
//!
//! Read [`WebSocket`] first. [`open`] opens one, and [`HttpSession::open_socket`](crate::http::HttpSession::open_socket) opens one with a session's
//! cookies. Inside, `frame` encodes frames, `reader` decodes messages from incoming bytes (no sockets), and `state` is the connection. `deflate` is
//! permessage-deflate without context, so that no connection keeps a window. Deliberately absent: queues of messages (the caller reads on demand, and
//! the kernel buffers), matching.

mod deflate;
mod frame;
mod message;
mod open;
mod reader;
mod session;
mod socket;
mod state;

pub use message::{Close, Payload, Pong, ReceivedItem, SendTimes, WebSocketMessage};
pub use open::{SocketOptions, WebSocketOpening, open};
pub use socket::WebSocket;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing {
    pub(crate) use super::deflate::Deflate;
    pub(crate) use super::reader::{MessageReader, ServerItem, Violation, unpacking};
}
