//! The connection of an open WebSocket, and its reader.

use std::rc::{Rc, Weak};

use loadstone_protocol::Failure;
use loadstone_protocol::ws::{self, Payload, ReceivedItem, SendTimes};

use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, MessageChannel, READ_AT_ONCE_MAX, yield_now};
use crate::protocols::messages::inbox::ArrivedMessage;
use crate::protocols::messages::sending::SendingChannel;

/// Close code for a user with too many unread messages: "policy violation" (RFC 6455, section 7.4.1).
const POLICY_VIOLATION: u16 = 1008;

/// The channel holds it while it is open.
pub(super) struct WebSocketConnection(pub(super) Rc<ws::WebSocket>);

impl ChannelConnection for WebSocketConnection {
    fn send_close(&self, code: u16, reason: &str) -> Option<ChannelEnd> {
        self.0.send_close(code, reason);
        None
    }
}

/// A WebSocket of one user, open or closed.
#[derive(Clone)]
pub(super) struct UserSocket {
    pub(super) channel: Rc<MessageChannel>,
    /// Weak: the connection ends when the channel drops it.
    pub(super) socket: Weak<ws::WebSocket>,
}

impl SendingChannel for UserSocket {
    fn channel(&self) -> &Rc<MessageChannel> {
        &self.channel
    }

    async fn hand_over(&self, message: &Payload) -> Result<SendTimes, Failure> {
        let socket = self.sending()?;
        match message {
            Payload::Text(text) => socket.send_text(text).await,
            Payload::Binary(bytes) => socket.send_binary(bytes).await,
        }
    }
}

impl UserSocket {
    /// The socket to send on. `Err`: why there is none.
    pub(super) fn sending(&self) -> Result<Rc<ws::WebSocket>, Failure> {
        self.channel.check_open()?;
        self.socket.upgrade().ok_or_else(|| self.channel.not_open())
    }
}

/// Reads while the socket is open: pings are answered and messages are timed whether or not the script waits for them.
pub(super) async fn read(channel: Rc<MessageChannel>, socket: Rc<ws::WebSocket>) {
    let mut items = 0;
    loop {
        match socket.receive().await {
            Ok(ReceivedItem::Message(message)) => {
                channel.keep(ArrivedMessage { payload: message.payload, at: message.at, labels: None });
            }
            Ok(ReceivedItem::Pong(pong)) => {
                if let Ok(number) = pong.payload.as_slice().try_into().map(u64::from_be_bytes) {
                    channel.note_pong(number, pong.at);
                }
            }
            Ok(ReceivedItem::Closed(close)) => return channel.finish(ChannelEnd::closed(close.code, close.reason)),
            Err(failure) => return channel.finish(ChannelEnd::broken(failure.outcome, failure.message)),
        }
        if channel.is_overfull() {
            socket.send_close(POLICY_VIOLATION, "");
            return channel.finish(ChannelEnd::overfull());
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            yield_now().await;
        }
    }
}
