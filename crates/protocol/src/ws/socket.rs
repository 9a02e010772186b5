//! An open WebSocket.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use metrics::{Nanos, Outcome};

use super::frame::{self, Opcode};
use super::reader::{Item, MessageReader, Violation, unpacking};
use crate::http::{Connection, Takeover};
use crate::{Failure, Network};

/// Shorter messages are sent as they are: compressing them costs more than it saves. Bytes.
const COMPRESSED_BYTES_MIN: usize = 128;
/// While more than this waits to be written, senders wait, and pings go unanswered. Bytes.
const UNWRITTEN_BYTES_MAX: usize = 1 << 20;
/// Longest reason in a close frame (RFC 6455, section 5.5): 125 bytes less the code.
const REASON_BYTES_MAX: usize = 123;

/// A message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    Text(String),
    Binary(Bytes),
}

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
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

/// An answer to a ping, asked for or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pong {
    /// As it stood in the ping.
    pub payload: Vec<u8>,
    /// When its last byte was read.
    pub at: Nanos,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    Message(Message),
    Pong(Pong),
    /// The end; every further call gives it again.
    Closed(Close),
}

/// What sending took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub started: Nanos,
    /// The last byte was handed to the kernel.
    pub ended: Nanos,
    /// Bytes on the wire, without TLS.
    pub bytes: u64,
}

/// An open WebSocket. Several tasks may send and receive at once; a message goes to one of the receivers.
///
/// Pings are answered while somebody receives. Dropping the socket closes the connection without a farewell.
#[derive(Debug)]
pub struct Socket {
    network: Rc<Network>,
    protocol: Option<String>,
    deflate: bool,
    line: RefCell<Line>,
}

/// The connection and what is under way on it.
#[derive(Debug)]
struct Line {
    /// Closed as soon as the end is known and everything is written.
    connection: Option<Box<Connection>>,
    reader: MessageReader,
    /// Bytes that came with a message and have not been looked at, from `rest_at` on. Empty nearly always.
    rest: Vec<u8>,
    rest_at: usize,
    read_at: Nanos,
    /// Frames not yet written in full. Empty nearly always.
    out: Vec<u8>,
    /// TLS holds bytes that the kernel has not taken.
    unflushed: bool,
    /// Bytes queued and written since the socket opened.
    queued: u64,
    written: u64,
    close_sent: bool,
    end: Option<Result<Close, Failure>>,
    /// Tasks that wait for the connection; whoever makes headway wakes the others.
    waiting: Vec<Waker>,
}

impl Socket {
    pub(super) fn new(
        network: &Rc<Network>,
        takeover: Takeover,
        reader: MessageReader,
        deflate: bool,
        protocol: Option<String>,
        read_at: Nanos,
    ) -> Self {
        let line = Line {
            connection: Some(takeover.connection),
            reader,
            rest: takeover.rest,
            rest_at: 0,
            read_at,
            out: Vec::new(),
            unflushed: false,
            queued: 0,
            written: 0,
            close_sent: false,
            end: None,
            waiting: Vec::new(),
        };
        Self { network: Rc::clone(network), protocol, deflate, line: RefCell::new(line) }
    }

    /// The sub-protocol the server chose.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    pub async fn send_text(&self, text: &str) -> Result<Sent, Failure> {
        self.send(Opcode::Text, text.as_bytes()).await
    }

    pub async fn send_binary(&self, bytes: &[u8]) -> Result<Sent, Failure> {
        self.send(Opcode::Binary, bytes).await
    }

    /// Sends a ping; its pong comes to whoever receives. Fails for more than 125 bytes.
    pub async fn ping(&self, payload: &[u8]) -> Result<Sent, Failure> {
        if payload.len() > 125 {
            return Err(Failure::protocol("a ping carries at most 125 bytes"));
        }
        self.send(Opcode::Ping, payload).await
    }

    /// The next message or pong, or the end. Dropping the future loses nothing; time limits are the caller's.
    pub async fn receive(&self) -> Result<Received, Failure> {
        let _waiter = Waiter { line: &self.line };
        poll_fn(|context| self.line.borrow_mut().poll_receive(&self.network, context)).await
    }

    /// Begins the closing handshake; whoever receives learns of its end. Text beyond 123 bytes of the reason is cut.
    pub fn say_farewell(&self, code: u16, reason: &str) {
        let mut end = reason.len().min(REASON_BYTES_MAX);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let mut line = self.line.borrow_mut();
        line.queue_close(&self.network, Some(code), &reason[..end]);
        let mut context = Context::from_waker(Waker::noop());
        let _ = line.poll_flush(&mut context);
        // What the kernel does not take at once is written by whoever receives.
        line.wake_others(&context);
    }

    /// Says farewell and waits for the server's, dropping messages that come before it. Text beyond 123 bytes of the
    /// reason is cut.
    pub async fn close(&self, code: u16, reason: &str) -> Result<Close, Failure> {
        self.say_farewell(code, reason);
        loop {
            if let Received::Closed(close) = self.receive().await? {
                return Ok(close);
            }
        }
    }

    async fn send(&self, opcode: Opcode, payload: &[u8]) -> Result<Sent, Failure> {
        let _waiter = Waiter { line: &self.line };
        let packed = match opcode {
            Opcode::Text | Opcode::Binary if self.deflate && payload.len() >= COMPRESSED_BYTES_MIN => {
                Some(self.network.deflate().pack(payload)?)
            }
            _ => None,
        };
        poll_fn(|context| self.line.borrow_mut().poll_room(context)).await?;
        let started = self.network.clock().now();
        let content = packed.as_deref().unwrap_or(payload);
        let target = self.line.borrow_mut().queue(&self.network, opcode, packed.is_some(), content);
        poll_fn(|context| self.line.borrow_mut().poll_written(context, target.1)).await?;
        Ok(Sent { started, ended: self.network.clock().now(), bytes: target.1 - target.0 })
    }
}

/// Wakes the others when its task stops waiting, since the kernel's next event would have gone to it.
struct Waiter<'a> {
    line: &'a RefCell<Line>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.line.borrow_mut().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Line {
    /// Adds a frame to what is to be written; where it begins and ends in the stream.
    fn queue(&mut self, network: &Network, opcode: Opcode, compressed: bool, payload: &[u8]) -> (u64, u64) {
        let mask = (network.random() as u32).to_ne_bytes();
        let (start, before) = (self.queued, self.out.len());
        frame::write(&mut self.out, opcode, compressed, payload, mask);
        self.queued += (self.out.len() - before) as u64;
        (start, self.queued)
    }

    fn queue_close(&mut self, network: &Network, code: Option<u16>, reason: &str) {
        if self.close_sent {
            return;
        }
        self.close_sent = true;
        let mut payload = Vec::with_capacity(2 + reason.len());
        if let Some(code) = code {
            payload.extend_from_slice(&code.to_be_bytes());
            payload.extend_from_slice(reason.as_bytes());
        }
        self.queue(network, Opcode::Close, false, &payload);
    }

    /// Ready once a frame may be added.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Some(end) = &self.end {
            return Poll::Ready(Err(match end {
                Ok(_) => Failure::new(Outcome::Reset, "the WebSocket is closed"),
                Err(failure) => failure.clone(),
            }));
        }
        if self.close_sent {
            return Poll::Ready(Err(Failure::new(Outcome::Reset, "the WebSocket is closing")));
        }
        if self.out.len() <= UNWRITTEN_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        self.poll_flush(context)
    }

    /// Ready once the stream is written up to `target`.
    fn poll_written(&mut self, context: &mut Context<'_>, target: u64) -> Poll<Result<(), Failure>> {
        if self.written >= target && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        self.poll_flush(context)
    }

    /// Writes all there is.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let mut done = 0;
        let Some(connection) = &mut self.connection else { return Poll::Ready(Ok(())) };
        let stream = &mut connection.stream;
        let result = loop {
            if done == self.out.len() {
                break stream.poll_flush(context);
            }
            match stream.poll_write(context, &self.out[done..], &[]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                Poll::Ready(Ok(count)) => done += count,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if done == self.out.len() {
            // The next message gets a new buffer; an idle connection holds none.
            self.out = Vec::new();
        } else {
            self.out.drain(..done);
        }
        self.written += done as u64;
        self.unflushed = self.out.is_empty() && result.is_pending();
        if done > 0 {
            self.wake_others(context);
        }
        match result {
            Poll::Pending => {
                self.wait(context);
                Poll::Pending
            }
            Poll::Ready(result) => Poll::Ready(result.map_err(|error| Failure::broken(&error))),
        }
    }

    fn poll_receive(&mut self, network: &Network, context: &mut Context<'_>) -> Poll<Result<Received, Failure>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(Received::Closed));
            }
            if !self.out.is_empty() || self.unflushed {
                // Answers to pings and closes; a failure to write shows in the read.
                let _ = self.poll_flush(context);
            }
            let item = if self.rest_at < self.rest.len() {
                let fed = self.reader.feed(&self.rest[self.rest_at..], unpacking(&mut network.deflate()));
                fed.map(|(used, item)| {
                    self.rest_at += used;
                    if self.rest_at == self.rest.len() {
                        self.rest = Vec::new();
                        self.rest_at = 0;
                    }
                    item
                })
            } else {
                match self.poll_read(network, context) {
                    Poll::Pending => {
                        self.wait(context);
                        return Poll::Pending;
                    }
                    Poll::Ready(item) => item,
                }
            };
            match item {
                Ok(Some(item)) => {
                    if let Some(received) = self.take(network, context, item) {
                        self.wake_others(context);
                        return Poll::Ready(Ok(received));
                    }
                }
                Ok(None) => {}
                Err(violation) => {
                    self.queue_close(network, Some(violation.code), "");
                    let _ = self.poll_flush(context);
                    self.finish(context, Err(violation.failure));
                }
            }
        }
    }

    /// Reads once, keeping what follows the first item.
    fn poll_read(&mut self, network: &Network, context: &mut Context<'_>) -> Poll<Result<Option<Item>, Violation>> {
        let Some(connection) = &mut self.connection else { return Poll::Pending };
        connection.stream.stamp(network.takes_stamp());
        let mut scratch = network.scratch();
        let failure = match connection.stream.poll_read(context, &mut scratch) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(0)) => Failure::new(Outcome::Reset, "the server closed the connection without a close frame"),
            Poll::Ready(Err(error)) => Failure::broken(&error),
            Poll::Ready(Ok(count)) => {
                self.read_at = network.clock().now();
                // What nobody waited for may lie there as long as the script likes.
                if let Some(lag_ns) = connection.stream.take_lag_ns()
                    && !self.waiting.is_empty()
                    && self.out.is_empty()
                {
                    network.read_after(lag_ns);
                }
                let fed = self.reader.feed(&scratch[..count], unpacking(&mut network.deflate()));
                return Poll::Ready(fed.map(|(used, item)| {
                    self.rest.extend_from_slice(&scratch[used..count]);
                    item
                }));
            }
        };
        self.finish(context, Err(failure));
        Poll::Ready(Ok(None))
    }

    /// Acts on an item; what of it is for the caller.
    fn take(&mut self, network: &Network, context: &mut Context<'_>, item: Item) -> Option<Received> {
        let message = |payload| Some(Received::Message(Message { payload, at: self.read_at }));
        match item {
            Item::Text(text) => return message(Payload::Text(text)),
            Item::Binary(bytes) => return message(Payload::Binary(Bytes::from(bytes))),
            Item::Pong(payload) => return Some(Received::Pong(Pong { payload, at: self.read_at })),
            // A peer that sends pings and does not read the answers gets none (RFC 6455, section 5.5.3).
            Item::Ping(payload) if self.out.len() <= UNWRITTEN_BYTES_MAX && !self.close_sent => {
                self.queue(network, Opcode::Pong, false, &payload);
            }
            Item::Ping(_) => {}
            Item::Close(code, reason) => {
                self.queue_close(network, code, "");
                let _ = self.poll_flush(context);
                self.finish(context, Ok(Close { code, reason, at: self.read_at }));
            }
        }
        None
    }

    fn finish(&mut self, context: &Context<'_>, end: Result<Close, Failure>) {
        self.end = Some(end);
        if self.out.is_empty() && !self.unflushed {
            self.connection = None;
        }
        self.wake_others(context);
    }

    fn wait(&mut self, context: &Context<'_>) {
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
    }

    fn wake_others(&mut self, context: &Context<'_>) {
        for waker in self.waiting.drain(..) {
            if !waker.will_wake(context.waker()) {
                waker.wake();
            }
        }
    }
}
