//! What a WebSocket carries, and what its caller learns of it.

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

/// How the server ended a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// `None`: the close frame had no code.
    pub code: Option<u16>,
    pub reason: String,
    pub at: Nanos,
}

/// A response to a ping, asked for or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pong {
    /// As it stood in the ping.
    pub payload: Vec<u8>,
    /// When its last byte was read.
    pub at: Nanos,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceivedItem {
    Message(WebSocketMessage),
    Pong(Pong),
    /// The end; every further call gives it again.
    Closed(Close),
}

/// What sending took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTimes {
    pub started: Nanos,
    /// The last byte was handed to the kernel.
    pub ended: Nanos,
    /// Bytes on the wire, without TLS.
    pub bytes: u64,
}
