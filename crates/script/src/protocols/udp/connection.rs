//! A UDP socket of one user, and its reader.

use std::rc::{Rc, Weak};

use loadstone_metrics::Outcome;
use loadstone_protocol::Failure;
use loadstone_protocol::udp::DatagramSocket;
use loadstone_protocol::ws::{Payload, SendTimes};

use crate::protocols::messages::channel::{ChannelConnection, ChannelEnd, MessageChannel, READ_AT_ONCE_MAX, give_way};
use crate::protocols::messages::inbox::ArrivedMessage;
use crate::protocols::messages::sending::SendingChannel;

/// What the channel holds: the socket itself is the reader's.
pub(super) struct UdpConnection;

impl ChannelConnection for UdpConnection {
    /// There is nobody who would hear it.
    fn say_farewell(&self, _: u16, _: &str) -> Option<ChannelEnd> {
        Some(ChannelEnd::ordinary("the script closed the UDP socket"))
    }
}

/// A socket of one user, which may have ended.
#[derive(Clone)]
pub(super) struct UserDatagrams {
    pub(super) channel: Rc<MessageChannel>,
    /// Weak: the socket ends with its reader, when the channel lets go of that.
    pub(super) socket: Weak<DatagramSocket>,
}

impl SendingChannel for UserDatagrams {
    fn channel(&self) -> &Rc<MessageChannel> {
        &self.channel
    }

    async fn hand_over(&self, message: &Payload) -> Result<SendTimes, Failure> {
        self.channel.check_open()?;
        let gone = || Failure { outcome: Outcome::Closed, message: "the UDP socket is closed".to_owned() };
        let socket = self.socket.upgrade().ok_or_else(gone)?;
        let bytes = match message {
            Payload::Text(text) => text.as_bytes(),
            Payload::Binary(bytes) => bytes,
        };
        let sent = socket.send(bytes).await?;
        Ok(SendTimes { started: sent.started, ended: sent.ended, bytes: bytes.len() as u64 })
    }
}

/// Reads for as long as the socket lives: what comes is timed whether or not the script is waiting for any.
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
            give_way().await;
        }
    }
}
