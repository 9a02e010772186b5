//! The items that a WebSocket delivers to its caller.

use bytes::Bytes;
use loadstone_metrics::Nanos;

/// A message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    Text(String),
    Binary(Bytes),
}

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketMessage {
    pub payload: Payload,
    /// When its last byte was read.
    pub at: Nanos,
}

/// How the server closed a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// `None`: the close frame had no code.
    pub code: Option<u16>,
    pub reason: String,
    pub at: Nanos,
}

/// A response to a ping, or an unsolicited pong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pong {
    /// The payload of the ping.
    pub payload: Vec<u8>,
    /// When its last byte was read.
    pub at: Nanos,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceivedItem {
    Message(WebSocketMessage),
    Pong(Pong),
    /// The end. Every further call returns it again.
    Closed(Close),
}

/// The cost of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTimes {
    pub started: Nanos,
    /// The last byte was passed to the kernel.
    pub ended: Nanos,
    /// Bytes on the wire, without TLS.
    pub bytes: u64,
}
