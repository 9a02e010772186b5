//! The streams of a connection, without its socket: what requests write, and the bytes to send.
//!
//! `received` interprets what the server sends.

use std::task::Waker;

use loadstone_metrics::{Nanos, Outcome};

use super::end::{BrokenStream, ConnectionEnd, Goaway, Http2Need};
use super::frame::{
    DATA, END_HEADERS, END_STREAM, FrameHeader, HEADER_BYTES, HEADERS, MASK_31, PAYLOAD_BYTES_DEFAULT, PREFACE, write_block, write_goaway,
    write_header, write_reset, write_window_update,
};
use super::hpack::{DecodedBlock, Decoder, Encoder, HeadFields};
use super::reason::Reason;
use super::settings::{self, CONNECTION_WINDOW_BYTES, HEADERS_BYTES_MAX, STREAM_WINDOW_BYTES, WINDOW_BYTES_DEFAULT};
use crate::failure::Failure;

/// Bytes that wait to be written. Bodies are added only below this limit.
const OUT_BYTES_MAX: usize = 64 * 1024;
/// A larger buffer is not kept for later frames.
const OUT_RETAINED_BYTES_MAX: usize = 16 * 1024;
/// Answers to a server that does not read them. Beyond it, nothing more is read.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// An open stream of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamKey {
    pub(super) slot: usize,
    pub(super) id: u32,
}

/// What is done with the bodies of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponsePlan {
    /// The lowest status whose body is stored. The bodies of others are counted.
    pub(crate) keep_from: u16,
    /// The response has no body, whatever its `content-length` says.
    pub(crate) to_head: bool,
}

/// One stream. Slots are reused.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) plan: Option<ResponsePlan>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Bytes of DATA that may be sent. Negative after the server has lowered its setting.
    pub(super) window: i64,
    /// Bytes of DATA that the server may send.
    pub(super) receive_window: i64,
    /// Bytes that were consumed, but are not yet part of the server's window again.
    unreleased: u32,
    pub(super) head: Option<DecodedBlock>,
    /// The head has arrived, and its status.
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
    pub(super) body: Vec<u8>,
    /// Bytes of the body so far, and those of them that the reader has not been shown.
    pub(super) body_bytes: u64,
    pub(super) unread_bytes: u64,
    pub(super) trailers: Option<DecodedBlock>,
    pub(super) first_byte: Nanos,
    pub(super) ended_at: Nanos,
    /// END_STREAM has arrived, and was sent.
    pub(super) is_received: bool,
    pub(super) is_sent: bool,
    pub(super) broken: Option<BrokenStream>,
}

/// A header block whose last frame has not arrived.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub(super) stream: u32,
    pub(super) ends: bool,
    pub(super) bytes: Vec<u8>,
}

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    need: Http2Need,
    pub(super) slots: Vec<Stream>,
    free: Vec<usize>,
    /// Ids and slots of the streams in use, in ascending order.
    open: Vec<(u32, usize)>,
    next_id: u32,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    out: Vec<u8>,
    /// How much of `out` was written.
    written: usize,
    /// Answers to frames of the server, since `out` was last empty. Bytes.
    answers: usize,
    /// The start of a frame.
    pub(super) partial: Vec<u8>,
    pub(super) block: Option<OpenBlock>,
    /// A frame has arrived.
    pub(super) began: bool,
    /// The server's limit on streams. `None`: its settings have not arrived.
    pub(super) streams_max: Option<usize>,
    pub(super) initial_window: i64,
    pub(super) window: i64,
    pub(super) payload_bytes_max: usize,
    pub(super) receive_window: i64,
    unreleased: u32,
    pub(super) goaway: Option<Goaway>,
    end: Option<ConnectionEnd>,
    driver: Option<Waker>,
    /// Requests that wait for a place: see [`Streams::on_change`].
    waiting: Vec<Waker>,
}

impl Streams {
    /// With the client's preface to send.
    pub(crate) fn new(need: Http2Need) -> Self {
        let mut out = PREFACE.to_vec();
        settings::write_own(&mut out);
        Self {
            need,
            slots: Vec::new(),
            free: Vec::new(),
            open: Vec::new(),
            next_id: 1,
            encoder: Encoder::new(),
            decoder: Decoder::new(HEADERS_BYTES_MAX as usize),
            out,
            written: 0,
            answers: 0,
            partial: Vec::new(),
            block: None,
            began: false,
            streams_max: None,
            initial_window: i64::from(WINDOW_BYTES_DEFAULT),
            window: i64::from(WINDOW_BYTES_DEFAULT),
            payload_bytes_max: PAYLOAD_BYTES_DEFAULT,
            receive_window: i64::from(CONNECTION_WINDOW_BYTES),
            unreleased: 0,
            goaway: None,
            end: None,
            driver: None,
            waiting: Vec::new(),
        }
    }

    /// Whether it takes more streams.
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none() && self.goaway.is_none() && self.next_id <= MASK_31
    }

    /// Why it takes no more streams. The server has received nothing of the next one.
    pub(crate) fn refusal(&self) -> BrokenStream {
        match (&self.goaway, &self.end) {
            (Some(goaway), _) => BrokenStream { unprocessed: true, ..goaway.unhandled() },
            (None, end) => {
                let end = end.as_ref().unwrap_or(&ConnectionEnd::Unused);
                BrokenStream { failure: end.failure(None, self.need), unprocessed: true }
            }
        }
    }

    pub(crate) fn streams_max(&self) -> Option<usize> {
        self.streams_max
    }

    /// Wakes the task when the limit on streams changes, or the connection takes no more.
    pub(crate) fn on_change(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    pub(super) fn changed(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    pub(super) fn in_use(&self) -> usize {
        self.open.len()
    }

    /// Begins a stream with a request's head. `ends`: nothing follows the head.
    ///
    /// # Errors
    /// The connection takes no more streams.
    pub(crate) fn begin(
        &mut self,
        head: &impl HeadFields,
        added: Option<(&str, &str)>,
        ends: bool,
        plan: ResponsePlan,
    ) -> Result<StreamKey, BrokenStream> {
        if !self.is_open() {
            return Err(self.refusal());
        }
        let id = self.next_id;
        self.next_id += 2;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Stream::default());
            self.slots.len() - 1
        });
        self.slots[slot] = Stream {
            id,
            plan: Some(plan),
            window: self.initial_window,
            receive_window: i64::from(STREAM_WINDOW_BYTES),
            is_sent: ends,
            ..Stream::default()
        };
        self.open.push((id, slot));
        // The block follows its header, whose length is then known. A longer one is divided.
        let start = self.out.len();
        write_header(&mut self.out, 0, 0, 0, 0);
        self.encoder.encode(head, added, &mut self.out);
        self.end_block(start, id, ends);
        Ok(StreamKey { slot, id })
    }

    /// Gives the block at the end of `out` its frame headers. `start`: where room for the first was left.
    fn end_block(&mut self, start: usize, id: u32, ends: bool) {
        if self.out.len() - start - HEADER_BYTES <= self.payload_bytes_max {
            let length = self.out.len() - start - HEADER_BYTES;
            let flags = END_HEADERS | if ends { END_STREAM } else { 0 };
            let header = FrameHeader { length, kind: HEADERS, flags, stream: id };
            self.out[start..start + HEADER_BYTES].copy_from_slice(&header.bytes());
            return;
        }
        let block = self.out.split_off(start + HEADER_BYTES);
        self.out.truncate(start);
        write_block(&mut self.out, id, ends, self.payload_bytes_max, &block);
    }

    /// Sends the start of a request's body, as much as the server's windows and the buffer allow. Returns the length of that part.
    ///
    /// # Errors
    /// Why nothing more can be sent.
    pub(crate) fn write_body(&mut self, key: StreamKey, body: &[u8], ends: bool) -> Result<usize, BrokenStream> {
        let stream = self.writable(key)?;
        let (is_empty, window) = (body.is_empty(), stream.window);
        let mut sent = 0;
        while sent < body.len() || is_empty {
            let room = (window.min(self.window) - sent as i64).max(0);
            let buffered = self.out.len() - self.written;
            let part = (body.len() - sent).min(usize::try_from(room).unwrap_or(0)).min(self.payload_bytes_max);
            if !is_empty && (part == 0 || buffered >= OUT_BYTES_MAX) {
                break;
            }
            let is_last = ends && sent + part == body.len();
            write_header(&mut self.out, part, DATA, if is_last { END_STREAM } else { 0 }, key.id);
            self.out.extend_from_slice(&body[sent..sent + part]);
            sent += part;
            self.slots[key.slot].is_sent |= is_last;
            if is_empty {
                break;
            }
        }
        self.window -= sent as i64;
        self.slots[key.slot].window -= sent as i64;
        Ok(sent)
    }

    /// Sends the fields after a request's body.
    ///
    /// # Errors
    /// Why nothing more can be sent.
    pub(crate) fn write_trailers<'a>(
        &mut self,
        key: StreamKey,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<(), BrokenStream> {
        self.writable(key)?.is_sent = true;
        let start = self.out.len();
        write_header(&mut self.out, 0, 0, 0, 0);
        self.encoder.encode_trailers(fields, &mut self.out);
        self.end_block(start, key.id, true);
        Ok(())
    }

    /// Wakes the task when more of a body may be sent.
    pub(crate) fn on_room(&mut self, key: StreamKey, waker: &Waker) {
        self.slots[key.slot].writer = Some(waker.clone());
    }

    fn writable(&mut self, key: StreamKey) -> Result<&mut Stream, BrokenStream> {
        let stream = &mut self.slots[key.slot];
        match &stream.broken {
            Some(broken) => Err(broken.clone()),
            None if stream.is_sent => Err(Failure::new(Outcome::Closed, "the server has ended the call").into()),
            None => Ok(stream),
        }
    }

    pub(super) fn stream(&mut self, key: StreamKey) -> &mut Stream {
        &mut self.slots[key.slot]
    }

    /// The stream of this id, if a request uses it.
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        let at = self.open.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.open[at].1)
    }

    /// Whether the client has opened this stream.
    pub(super) fn was_opened(&self, id: u32) -> bool {
        id % 2 == 1 && id < self.next_id
    }

    /// Bytes of a body were consumed: the server may send as many again.
    pub(super) fn release(&mut self, slot: usize, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.release_of_connection(bytes);
        let stream = &mut self.slots[slot];
        stream.unreleased += bytes;
        if stream.unreleased >= STREAM_WINDOW_BYTES / 2 && !stream.is_received && stream.broken.is_none() {
            let released = std::mem::take(&mut stream.unreleased);
            stream.receive_window += i64::from(released);
            write_window_update(&mut self.out, stream.id, released);
        }
    }

    pub(super) fn release_of_connection(&mut self, bytes: u32) {
        self.unreleased += bytes;
        if self.unreleased >= CONNECTION_WINDOW_BYTES / 2 {
            let released = std::mem::take(&mut self.unreleased);
            self.receive_window += i64::from(released);
            write_window_update(&mut self.out, 0, released);
        }
    }

    /// The request no longer needs its stream. A stream that is not complete is reset.
    pub(crate) fn leave(&mut self, key: StreamKey) {
        let stream = &mut self.slots[key.slot];
        let (unread, is_over) = (stream.body.len(), stream.broken.is_some() || stream.is_received && stream.is_sent);
        if !is_over && self.end.is_none() {
            write_reset(&mut self.out, key.id, Reason::CANCEL);
        }
        self.release_of_connection(u32::try_from(unread).unwrap_or(u32::MAX));
        self.slots[key.slot] = Stream::default();
        self.free.push(key.slot);
        if let Ok(at) = self.open.binary_search_by_key(&key.id, |(id, _)| *id) {
            self.open.remove(at);
        }
    }

    /// Resets a stream whose server violated the protocol, or whose call was cancelled.
    pub(super) fn reset(&mut self, slot: usize, reason: Reason, broken: BrokenStream) {
        write_reset(&mut self.out, self.slots[slot].id, reason);
        self.break_stream(slot, broken);
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, key: StreamKey, broken: BrokenStream) {
        if self.end.is_none() && self.slots[key.slot].broken.is_none() {
            self.reset(key.slot, Reason::CANCEL, broken);
        }
    }

    pub(super) fn break_stream(&mut self, slot: usize, broken: BrokenStream) {
        self.slots[slot].broken.get_or_insert(broken);
        self.slots[slot].wake();
    }

    /// Breaks the streams after `last`, for which `broken` says why.
    pub(super) fn break_after(&mut self, last: u32, broken: &BrokenStream) {
        for (id, slot) in &self.open {
            let stream = &mut self.slots[*slot];
            // Complete responses remain.
            if *id > last && !stream.is_received {
                stream.broken.get_or_insert_with(|| broken.clone());
                stream.wake();
            }
        }
    }

    /// No more bytes come.
    pub(super) fn finish(&mut self, end: ConnectionEnd) {
        if self.end.is_some() {
            return;
        }
        if let ConnectionEnd::Violated(reason) = end {
            write_goaway(&mut self.out, reason);
        }
        let broken = BrokenStream::from(end.failure(self.goaway.as_ref(), self.need));
        self.end = Some(end);
        self.break_after(0, &broken);
        self.changed();
    }

    /// The client ends the connection, which nobody uses any more.
    pub(super) fn close(&mut self) {
        if self.end.is_none() {
            write_goaway(&mut self.out, Reason::NO_ERROR);
            self.finish(ConnectionEnd::Unused);
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether the connection ends once everything is written.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() || self.goaway.is_some() && self.open.is_empty()
    }

    /// The bytes to write.
    pub(crate) fn to_write(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// Bytes were written.
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        let was_full = self.out.len() >= OUT_BYTES_MAX;
        if self.written >= OUT_BYTES_MAX {
            self.out.drain(..self.written);
            self.written = 0;
        }
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
            self.answers = 0;
            if self.out.capacity() > OUT_RETAINED_BYTES_MAX && !was_full {
                self.out = Vec::new();
            }
        }
        if was_full {
            self.wake_writers();
        }
    }

    /// Whether the server must read answers before more is read.
    pub(crate) fn has_many_answers(&self) -> bool {
        self.answers > ANSWER_BYTES_MAX
    }

    /// Appends an answer to a frame.
    pub(super) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.out.len();
        write(&mut self.out);
        self.answers += self.out.len() - before;
    }

    pub(super) fn wake_writers(&mut self) {
        for (_, slot) in &self.open {
            self.slots[*slot].wake_writer();
        }
    }

    pub(super) fn driven_by(&mut self, waker: &Waker) {
        if !self.driver.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    pub(super) fn wake_driver(&self) {
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }
}

impl Stream {
    pub(super) fn read_by(&mut self, waker: &Waker) {
        if !self.reader.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.reader = Some(waker.clone());
        }
    }

    pub(super) fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        if self.broken.is_some() {
            self.wake_writer();
        }
    }

    pub(super) fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }

    /// The body so far, which is then the reader's.
    pub(super) fn take_body(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }
}
