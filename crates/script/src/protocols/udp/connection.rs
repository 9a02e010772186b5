//! A UDP socket of one user, and its reader.

use std::rc::{Rc, Weak};

use loadstone_protocol::Failure;
use loadstone_protocol::udp::DatagramSocket;
use loadstone_protocol::ws::{Payload, SendTimes};

use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, MessageChannel, READ_AT_ONCE_MAX, yield_now};
use crate::protocols::messages::inbox::ArrivedMessage;
use crate::protocols::messages::sending::SendingChannel;

/// The channel's part of a socket. The reader has the socket.
pub(super) struct UdpConnection;

impl ChannelConnection for UdpConnection {
    /// UDP has no close message.
    fn send_close(&self, _: u16, _: &str) -> Option<ChannelEnd> {
        Some(ChannelEnd::ordinary("the script closed the UDP socket"))
    }
}

/// A socket of one user, open or closed.
#[derive(Clone)]
pub(super) struct UserDatagrams {
    pub(super) channel: Rc<MessageChannel>,
    /// Weak: the socket ends with its reader, which the channel drops.
    pub(super) socket: Weak<DatagramSocket>,
}

impl SendingChannel for UserDatagrams {
    fn channel(&self) -> &Rc<MessageChannel> {
        &self.channel
    }

    async fn hand_over(&self, message: &Payload) -> Result<SendTimes, Failure> {
        self.channel.check_open()?;
        let socket = self.socket.upgrade().ok_or_else(|| self.channel.not_open())?;
        let bytes = match message {
            Payload::Text(text) => text.as_bytes(),
            Payload::Binary(bytes) => bytes,
        };
        let sent = socket.send(bytes).await?;
        Ok(SendTimes { started: sent.started, ended: sent.ended, bytes: bytes.len() as u64 })
    }
}

/// Reads while the socket is open: datagrams are timed whether or not the script waits for them.
pub(super) async fn read(channel: Rc<MessageChannel>, socket: Rc<DatagramSocket>) {
    let mut items = 0;
    loop {
        match socket.receive().await {
            Ok(datagram) => channel.keep(ArrivedMessage { payload: Payload::Binary(datagram.bytes), at: datagram.at, labels: None }),
            Err(failure) => return channel.finish(ChannelEnd::broken(failure.outcome, failure.message)),
        }
        if channel.is_overfull() {
            return channel.finish(ChannelEnd::overfull());
        }
        items += 1;
        if items % READ_AT_ONCE_MAX == 0 {
            yield_now().await;
        }
    }
}
