//! A request's handle to its stream.

use std::rc::Rc;
use std::task::{Context, Poll};

use loadstone_metrics::Nanos;

use super::connection::Http2Connection;
use super::end::BrokenStream;
use super::hpack::{DecodedBlock, HeadFields};
use super::streams::{ResponsePlan, StreamKey};
use crate::failure::Failure;

/// A stream. Dropping it resets the stream if it is not complete.
#[derive(Debug)]
pub(crate) struct Http2Stream {
    connection: Rc<Http2Connection>,
    key: StreamKey,
}

/// The part of a response's body that has arrived since the last one.
#[derive(Debug)]
pub(crate) struct BodyPiece {
    /// Length, also of what is not stored. Bytes.
    pub(crate) bytes: u64,
    pub(crate) stored: Vec<u8>,
    /// It is the last.
    pub(crate) end: Option<ResponseEnd>,
}

/// The end of a response.
#[derive(Debug)]
pub(crate) struct ResponseEnd {
    pub(crate) trailers: Option<DecodedBlock>,
    /// When its last byte was read.
    pub(crate) at: Nanos,
}

impl Http2Stream {
    /// Begins a stream with a request's head, which [`Http2Stream::pass_on`] sends. `added`: a field that is not part of the head. `ends`: nothing
    /// follows the head.
    ///
    /// # Errors
    /// The connection takes no more streams.
    pub(crate) fn begin(
        connection: &Rc<Http2Connection>,
        head: &impl HeadFields,
        added: Option<(&str, &str)>,
        ends: bool,
        plan: ResponsePlan,
    ) -> Result<Self, BrokenStream> {
        let key = connection.streams().borrow_mut().begin(head, added, ends, plan)?;
        Ok(Self { connection: Rc::clone(connection), key })
    }

    /// Passes what was written to the kernel, or to the task that moves the connection's bytes.
    pub(crate) fn pass_on(&self, context: &mut Context<'_>) {
        self.connection.pass_on(context);
    }

    /// Writes the start of a body, and waits for room if there is none. Returns its length. [`Http2Stream::pass_on`] sends it.
    pub(crate) fn poll_write(&self, context: &mut Context<'_>, body: &[u8], ends: bool) -> Poll<Result<usize, BrokenStream>> {
        let mut streams = self.connection.streams().borrow_mut();
        match streams.write_body(self.key, body, ends) {
            Ok(0) if !body.is_empty() => {
                streams.on_room(self.key, context.waker());
                Poll::Pending
            }
            written => Poll::Ready(written),
        }
    }

    /// Writes the fields after the body. [`Http2Stream::pass_on`] sends them.
    pub(crate) fn write_trailers<'a>(&self, fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Result<(), BrokenStream> {
        self.connection.streams().borrow_mut().write_trailers(self.key, fields)
    }

    /// Ends the body, unless the stream is over.
    pub(crate) fn end(&self) {
        // This fails if the server need not be informed.
        let _ = self.connection.streams().borrow_mut().write_body(self.key, &[], true);
        self.connection.pass_answers();
    }

    /// Ready with the head of the response, and when its first byte was read.
    pub(crate) fn poll_head(&self, context: &mut Context<'_>) -> Poll<Result<(DecodedBlock, Nanos), BrokenStream>> {
        let mut streams = self.connection.streams().borrow_mut();
        let stream = streams.stream(self.key);
        if let Some(head) = stream.head.take() {
            return Poll::Ready(Ok((head, stream.first_byte)));
        }
        if let Some(broken) = &stream.broken {
            return Poll::Ready(Err(broken.clone()));
        }
        stream.read_by(context.waker());
        Poll::Pending
    }

    /// Ready when a part of the body has arrived, or its end. Parts that had arrived before the stream broke come first.
    pub(crate) fn poll_body(&self, context: &mut Context<'_>) -> Poll<Result<BodyPiece, BrokenStream>> {
        let mut streams = self.connection.streams().borrow_mut();
        let stream = streams.stream(self.key);
        let is_complete = stream.is_received && stream.broken.is_none();
        if stream.unread_bytes == 0 && !is_complete {
            if let Some(broken) = &stream.broken {
                return Poll::Ready(Err(broken.clone()));
            }
            stream.read_by(context.waker());
            return Poll::Pending;
        }
        let end = is_complete.then(|| ResponseEnd { trailers: stream.trailers.take(), at: stream.ended_at });
        let piece = BodyPiece { bytes: std::mem::take(&mut stream.unread_bytes), stored: stream.take_body(), end };
        if !piece.stored.is_empty() {
            streams.release(self.key.slot, piece.stored.len() as u64);
            drop(streams);
            self.connection.pass_answers();
        }
        Poll::Ready(Ok(piece))
    }

    /// Resets the stream. Its reader and writer then fail.
    pub(crate) fn cancel(&self, failure: Failure) {
        self.connection.streams().borrow_mut().cancel(self.key, failure.into());
        self.connection.pass_answers();
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.connection.streams().borrow_mut().leave(self.key);
        self.connection.pass_answers();
    }
}
