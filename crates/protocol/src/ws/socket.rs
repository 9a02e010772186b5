//! An open WebSocket, for its user.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Waker};

use loadstone_metrics::Nanos;

use super::deflate::SharedDeflate;
use super::frame::Opcode;
use super::message::{Close, ReceivedItem, SendTimes};
use super::reader::MessageReader;
use super::state::SocketState;
use crate::failure::Failure;
use crate::http::Takeover;
use crate::network::Network;

/// Shorter messages are sent uncompressed: compressing them costs more than it saves. Bytes.
const COMPRESSED_MESSAGE_BYTES_MIN: usize = 128;
/// Longest reason in a close frame (RFC 6455, section 5.5): 125 bytes minus the code.
const REASON_BYTES_MAX: usize = 123;

/// An open WebSocket. Several tasks may send and receive at once. Each message goes to one of the receivers.
///
/// Pings are answered while a task receives. Dropping the socket closes the connection without a close frame.
#[derive(Debug)]
pub struct WebSocket {
    network: Rc<Network>,
    protocol: Option<String>,
    deflate: bool,
    /// Shared by all sockets of the worker.
    windows: Rc<SharedDeflate>,
    state: RefCell<SocketState>,
}

impl WebSocket {
    pub(super) fn new(
        network: &Rc<Network>,
        takeover: Takeover,
        reader: MessageReader,
        deflate: bool,
        protocol: Option<String>,
        read_at: Nanos,
    ) -> Self {
        let state = SocketState::new(takeover.connection, reader, takeover.rest, read_at);
        Self { network: Rc::clone(network), protocol, deflate, windows: SharedDeflate::of(network), state: RefCell::new(state) }
    }

    /// The sub-protocol that the server chose.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub async fn send_text(&self, text: &str) -> Result<SendTimes, Failure> {
        self.send(Opcode::Text, text.as_bytes()).await
    }

    pub async fn send_binary(&self, bytes: &[u8]) -> Result<SendTimes, Failure> {
        self.send(Opcode::Binary, bytes).await
    }

    /// Sends a ping. A receiver gets its pong. Fails for more than 125 bytes.
    pub async fn ping(&self, payload: &[u8]) -> Result<SendTimes, Failure> {
        if payload.len() > 125 {
            return Err(Failure::unsendable("a ping carries at most 125 bytes"));
        }
        self.send(Opcode::Ping, payload).await
    }

    /// The next message or pong, or the end. Dropping the future loses nothing. The caller sets time limits.
    pub async fn receive(&self) -> Result<ReceivedItem, Failure> {
        let _waiter = WakeOthers { state: &self.state };
        poll_fn(|context| self.state.borrow_mut().poll_receive(&self.network, &self.windows, context)).await
    }

    /// Begins the closing handshake. A receiver gets its end. A reason of more than 123 bytes is cut.
    pub fn send_close(&self, code: u16, reason: &str) {
        let mut end = reason.len().min(REASON_BYTES_MAX);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut state = self.state.borrow_mut();
        state.queue_close(&self.network, Some(code), &reason[..end]);
        let mut context = Context::from_waker(Waker::noop());
        let _ = state.poll_flush(&mut context);
        // The receivers write what the kernel does not accept at once.
        state.wake_others(&context);
    }

    /// Sends a close frame and waits for the server's, dropping messages before it. A reason of more than 123 bytes is cut.
    pub async fn close(&self, code: u16, reason: &str) -> Result<Close, Failure> {
        self.send_close(code, reason);
        loop {
            if let ReceivedItem::Closed(close) = self.receive().await? {
                return Ok(close);
            }
        }
    }

    async fn send(&self, opcode: Opcode, payload: &[u8]) -> Result<SendTimes, Failure> {
        let _waiter = WakeOthers { state: &self.state };
        let packed = match opcode {
            Opcode::Text | Opcode::Binary if self.deflate && payload.len() >= COMPRESSED_MESSAGE_BYTES_MIN => {
                Some(self.windows.borrow().pack(payload)?)
            }
            _ => None,
        };
        poll_fn(|context| self.state.borrow_mut().poll_room(context)).await?;
        let started = self.network.clock().now();
        let content = packed.as_deref().unwrap_or(payload);
        let target = self.state.borrow_mut().queue(&self.network, opcode, packed.is_some(), content);
        poll_fn(|context| self.state.borrow_mut().poll_written(context, target.1)).await?;
        Ok(SendTimes { started, ended: self.network.clock().now(), bytes: target.1 - target.0 })
    }
}

/// Wakes the other tasks when its task stops waiting, since the kernel's next event would have gone to it.
struct WakeOthers<'a> {
    state: &'a RefCell<SocketState>,
}

impl Drop for WakeOthers<'_> {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.state.borrow_mut().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }
}
