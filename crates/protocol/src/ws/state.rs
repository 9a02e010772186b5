//! The connection of a WebSocket and its state: frames to write, bytes to read, the end.

use std::io;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use loadstone_metrics::{Nanos, Outcome};

use super::deflate::SharedDeflate;
use super::frame::{self, Opcode};
use super::message::{Close, Payload, Pong, ReceivedItem, WebSocketMessage};
use super::reader::{MessageReader, ServerItem, Violation, unpacking};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::network::Network;
use crate::tcp;

/// While more bytes than this are unwritten, senders wait, and pings are not answered.
const UNWRITTEN_BYTES_MAX: usize = 1 << 20;

/// The connection and its state.
#[derive(Debug)]
pub(super) struct SocketState {
    /// Closed as soon as the end is known and everything is written.
    connection: Option<Box<Connection>>,
    reader: MessageReader,
    /// Bytes that arrived with a message and have not been decoded, from `rest_at` on. Nearly always empty.
    rest: Vec<u8>,
    rest_at: usize,
    read_at: Nanos,
    /// Frames that are not completely written. Nearly always empty.
    out: Vec<u8>,
    /// TLS holds bytes that the kernel has not accepted.
    unflushed: bool,
    /// Bytes queued and written since the socket opened.
    queued: u64,
    written: u64,
    close_sent: bool,
    end: Option<Result<Close, Failure>>,
    /// Tasks that wait for the connection. A task that makes progress wakes the others.
    pub(super) waiting: Vec<Waker>,
}

impl SocketState {
    pub(super) fn new(connection: Box<Connection>, reader: MessageReader, rest: Vec<u8>, read_at: Nanos) -> Self {
        Self {
            connection: Some(connection),
            reader,
            rest,
            rest_at: 0,
            read_at,
            out: Vec::new(),
            unflushed: false,
            queued: 0,
            written: 0,
            close_sent: false,
            end: None,
            waiting: Vec::new(),
        }
    }

    /// Queues a frame. Returns where it begins and ends in the stream.
    pub(super) fn queue(&mut self, network: &Network, opcode: Opcode, compressed: bool, payload: &[u8]) -> (u64, u64) {
        let mask = (network.random() as u32).to_ne_bytes();
        let (start, before) = (self.queued, self.out.len());
        frame::write(&mut self.out, opcode, compressed, payload, mask);
        self.queued += (self.out.len() - before) as u64;
        (start, self.queued)
    }

    pub(super) fn queue_close(&mut self, network: &Network, code: Option<u16>, reason: &str) {
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

    /// Ready when a frame may be added.
    pub(super) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
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

    /// Ready when the stream is written up to `target`.
    pub(super) fn poll_written(&mut self, context: &mut Context<'_>, target: u64) -> Poll<Result<(), Failure>> {
        if self.written >= target && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        self.poll_flush(context)
    }

    /// Writes everything that is queued.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
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
            // The next message gets a new buffer. An idle connection owns none.
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

    pub(super) fn poll_receive(
        &mut self,
        network: &Network,
        windows: &SharedDeflate,
        context: &mut Context<'_>,
    ) -> Poll<Result<ReceivedItem, Failure>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(ReceivedItem::Closed));
            }
            if !self.out.is_empty() || self.unflushed {
                // Writes answers to pings and closes. A failure to write shows in the read.
                let _ = self.poll_flush(context);
            }
            let item = if self.rest_at < self.rest.len() {
                let fed = self.reader.feed(&self.rest[self.rest_at..], unpacking(&mut windows.borrow()));
                fed.map(|(used, item)| {
                    self.rest_at += used;
                    if self.rest_at == self.rest.len() {
                        self.rest = Vec::new();
                        self.rest_at = 0;
                    }
                    item
                })
            } else {
                match self.poll_read(network, windows, context) {
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

    /// Reads once, and keeps the bytes after the first item.
    fn poll_read(
        &mut self,
        network: &Network,
        windows: &SharedDeflate,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<ServerItem>, Violation>> {
        let Some(connection) = &mut self.connection else { return Poll::Pending };
        connection.stamp(network.takes_stamp());
        let mut scratch = network.scratch();
        let failure = match connection.stream.poll_read(context, &mut scratch) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(0)) => Failure::new(Outcome::Reset, "the server closed the connection without a close frame"),
            Poll::Ready(Err(error)) => Failure::broken(&error),
            Poll::Ready(Ok(count)) => {
                let last_read_at = std::mem::replace(&mut self.read_at, network.clock().now());
                // An unexpected message may wait there as long as the script likes, so its delay is not counted.
                if let Some(lag_ns) = connection.stream.take_lag_ns()
                    && tcp::is_possible(lag_ns, self.read_at.saturating_sub(last_read_at))
                    && !self.waiting.is_empty()
                    && self.out.is_empty()
                {
                    network.read_after(lag_ns);
                }
                let fed = self.reader.feed(&scratch[..count], unpacking(&mut windows.borrow()));
                return Poll::Ready(fed.map(|(used, item)| {
                    self.rest.extend_from_slice(&scratch[used..count]);
                    item
                }));
            }
        };
        self.finish(context, Err(failure));
        Poll::Ready(Ok(None))
    }

    /// Handles an item. Returns it if it is for the caller.
    fn take(&mut self, network: &Network, context: &mut Context<'_>, item: ServerItem) -> Option<ReceivedItem> {
        let message = |payload| Some(ReceivedItem::Message(WebSocketMessage { payload, at: self.read_at }));
        match item {
            ServerItem::Text(text) => return message(Payload::Text(text)),
            ServerItem::Binary(bytes) => return message(Payload::Binary(Bytes::from(bytes))),
            ServerItem::Pong(payload) => return Some(ReceivedItem::Pong(Pong { payload, at: self.read_at })),
            // A peer that sends pings and does not read the answers gets none (RFC 6455, section 5.5.3).
            ServerItem::Ping(payload) if self.out.len() <= UNWRITTEN_BYTES_MAX && !self.close_sent => {
                self.queue(network, Opcode::Pong, false, &payload);
            }
            ServerItem::Ping(_) => {}
            ServerItem::Close(code, reason) => {
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

    pub(super) fn wake_others(&mut self, context: &Context<'_>) {
        for waker in self.waiting.drain(..) {
            if !waker.will_wake(context.waker()) {
                waker.wake();
            }
        }
    }
}
