//! What the server sends: its frames change the state of the streams (RFC 9113, sections 5 and 6).

use loadstone_metrics::Nanos;

use super::end::{BrokenStream, ConnectionEnd, Goaway};
use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHeader, GOAWAY, HEADER_BYTES, HEADERS, MASK_31, PAYLOAD_BYTES_DEFAULT, PING,
    PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, unpadded, write_header,
};
use super::hpack::DecodedBlock;
use super::reason::Reason;
use super::settings;
use super::streams::{OpenBlock, Stream, Streams};

/// A longer header block ends the connection: its fields would exceed the limit many times over. Bytes.
const BLOCK_BYTES_MAX: usize = 512 * 1024;
/// The longest window (section 6.9.1).
const WINDOW_MAX: i64 = MASK_31 as i64;

impl Streams {
    /// Interprets bytes of the server, in pieces of any size, that were read at `now`.
    pub(crate) fn receive(&mut self, bytes: &[u8], now: Nanos) {
        if let Err(end) = self.frames(bytes, now) {
            self.finish(end);
        }
    }

    /// # Errors
    /// Why the connection must end.
    fn frames(&mut self, mut bytes: &[u8], now: Nanos) -> Result<(), ConnectionEnd> {
        while !bytes.is_empty() && !self.has_ended() {
            if self.partial.is_empty()
                && let Some(header) = self.header_of(bytes)?
                && let Some(payload) = bytes[HEADER_BYTES..].get(..header.length)
            {
                self.frame(header, payload, now)?;
                bytes = &bytes[HEADER_BYTES + header.length..];
                continue;
            }
            // A frame in several reads is assembled.
            let needed = match self.partial.len() {
                held @ 0..HEADER_BYTES => HEADER_BYTES - held,
                held => self.header_of(&self.partial)?.map_or(0, |header| HEADER_BYTES + header.length - held),
            };
            let (part, rest) = bytes.split_at(needed.min(bytes.len()));
            self.partial.extend_from_slice(part);
            bytes = rest;
            if let Some(header) = self.header_of(&self.partial)?
                && self.partial.len() == HEADER_BYTES + header.length
            {
                let partial = std::mem::take(&mut self.partial);
                self.frame(header, &partial[HEADER_BYTES..], now)?;
            }
        }
        Ok(())
    }

    /// The header at the start of the bytes, if it is complete.
    fn header_of(&self, bytes: &[u8]) -> Result<Option<FrameHeader>, ConnectionEnd> {
        let Some(first) = bytes.first_chunk() else { return Ok(None) };
        // A server's first frame is SETTINGS, which never begins like this (section 3.4).
        if !self.began && first.starts_with(b"HTTP/1.") {
            return Err(ConnectionEnd::SpeaksHttp1);
        }
        let header = FrameHeader::read(first);
        if header.length > PAYLOAD_BYTES_DEFAULT { Err(Reason::FRAME_SIZE_ERROR.into()) } else { Ok(Some(header)) }
    }

    fn frame(&mut self, header: FrameHeader, payload: &[u8], now: Nanos) -> Result<(), Reason> {
        self.began = true;
        // Nothing may come between the frames of a block (section 6.10).
        if self.block.is_some() != (header.kind == CONTINUATION) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let is_of_stream = matches!(header.kind, DATA | HEADERS | PRIORITY | RST_STREAM | CONTINUATION);
        let is_of_connection = matches!(header.kind, SETTINGS | PING | GOAWAY);
        if is_of_stream && header.stream == 0 || is_of_connection && header.stream != 0 {
            return Err(Reason::PROTOCOL_ERROR);
        }
        match header.kind {
            DATA => self.data(header, payload, now),
            HEADERS => {
                let fragment = unpadded(header, payload).ok_or(Reason::PROTOCOL_ERROR)?;
                let ends = header.has(END_STREAM);
                if header.has(END_HEADERS) {
                    return self.fields(header.stream, ends, fragment, now);
                }
                self.block = Some(OpenBlock { stream: header.stream, ends, bytes: fragment.to_vec() });
                Ok(())
            }
            CONTINUATION => self.continuation(header, payload, now),
            RST_STREAM => self.stream_reset(header, payload),
            SETTINGS => self.settings(header, payload),
            PUSH_PROMISE => Err(Reason::PROTOCOL_ERROR),
            PING if payload.len() != 8 => Err(Reason::FRAME_SIZE_ERROR),
            PING if header.has(ACK) => Ok(()),
            PING => {
                self.answer(|out| {
                    write_header(out, 8, PING, ACK, 0);
                    out.extend_from_slice(payload);
                });
                Ok(())
            }
            GOAWAY => {
                let goaway = Goaway::read(payload).ok_or(Reason::FRAME_SIZE_ERROR)?;
                self.break_after(goaway.last_stream, &goaway.unhandled());
                self.goaway = Some(goaway);
                self.changed();
                Ok(())
            }
            WINDOW_UPDATE => self.window_update(header, payload),
            // Priorities are advice, and unknown types are ignored (section 5.5).
            _ => Ok(()),
        }
    }

    fn continuation(&mut self, header: FrameHeader, payload: &[u8], now: Nanos) -> Result<(), Reason> {
        let Some(mut block) = self.block.take().filter(|block| block.stream == header.stream) else { return Err(Reason::PROTOCOL_ERROR) };
        // Empty frames without end would keep the connection busy.
        if payload.is_empty() && !header.has(END_HEADERS) || block.bytes.len() + payload.len() > BLOCK_BYTES_MAX {
            return Err(Reason::ENHANCE_YOUR_CALM);
        }
        block.bytes.extend_from_slice(payload);
        if header.has(END_HEADERS) {
            return self.fields(block.stream, block.ends, &block.bytes, now);
        }
        self.block = Some(block);
        Ok(())
    }

    /// A head or trailers.
    fn fields(&mut self, id: u32, ends: bool, encoded: &[u8], now: Nanos) -> Result<(), Reason> {
        if !self.was_opened(id) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        // The tables of both sides must agree even if nobody wants these fields.
        let block = self.decoder.decode(encoded).map_err(|_| Reason::COMPRESSION_ERROR)?;
        let Some(slot) = self.find(id) else { return Ok(()) };
        let stream = &mut self.slots[slot];
        if stream.broken.is_some() {
            return Ok(());
        }
        match stream.take_fields(block, ends, now) {
            Ok(()) if ends => self.ended(slot, now),
            Ok(()) => {}
            Err(reason) => self.reset(slot, reason, BrokenStream::violated(reason)),
        }
        Ok(())
    }

    fn data(&mut self, header: FrameHeader, payload: &[u8], now: Nanos) -> Result<(), Reason> {
        if !self.was_opened(header.stream) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        self.receive_window -= i64::from(length);
        if self.receive_window < 0 {
            return Err(Reason::FLOW_CONTROL_ERROR);
        }
        let data = unpadded(header, payload).ok_or(Reason::PROTOCOL_ERROR)?;
        let Some(slot) = self.find(header.stream).filter(|slot| self.slots[*slot].broken.is_none()) else {
            self.release_of_connection(length);
            return Ok(());
        };
        let ends = header.has(END_STREAM);
        let consumed = match self.slots[slot].take_data(data, length) {
            Ok(is_stored) => length as usize - if is_stored { data.len() } else { 0 },
            Err(reason) => {
                self.release_of_connection(length);
                self.reset(slot, reason, BrokenStream::violated(reason));
                return Ok(());
            }
        };
        if ends {
            self.ended(slot, now);
        }
        self.release(slot, consumed as u64);
        self.slots[slot].wake();
        Ok(())
    }

    /// The response is complete.
    fn ended(&mut self, slot: usize, now: Nanos) {
        let stream = &mut self.slots[slot];
        stream.is_received = true;
        stream.ended_at = now;
        let has_no_body = stream.plan.is_some_and(|plan| plan.to_head) || matches!(stream.status, Some(204 | 304));
        let is_short = stream.content_length.is_some_and(|length| length != stream.body_bytes) && !has_no_body;
        if is_short {
            self.reset(slot, Reason::PROTOCOL_ERROR, BrokenStream::violated(Reason::PROTOCOL_ERROR));
        } else {
            stream.wake();
        }
    }

    fn stream_reset(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Reason> {
        let code: [u8; 4] = payload.try_into().map_err(|_| Reason::FRAME_SIZE_ERROR)?;
        if !self.was_opened(header.stream) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let Some(slot) = self.find(header.stream) else { return Ok(()) };
        let stream = &mut self.slots[slot];
        // A server that has responded may refuse the rest of the request (section 8.1).
        stream.is_sent = true;
        if !stream.is_received {
            self.break_stream(slot, BrokenStream::reset(Reason(u32::from_be_bytes(code))));
        }
        Ok(())
    }

    fn settings(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Reason> {
        if header.has(ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Reason::FRAME_SIZE_ERROR) };
        }
        let received = settings::read(payload)?;
        if let Some(bytes) = received.table_bytes {
            self.encoder.limit(bytes);
        }
        if let Some(window) = received.window_bytes {
            let change = window - std::mem::replace(&mut self.initial_window, window);
            for stream in &mut self.slots {
                stream.window += change;
                if stream.window > WINDOW_MAX {
                    return Err(Reason::FLOW_CONTROL_ERROR);
                }
            }
            self.wake_writers();
        }
        self.payload_bytes_max = received.payload_bytes_max.unwrap_or(self.payload_bytes_max);
        // Without this setting, the first frame sets no limit (section 6.5.2).
        self.streams_max = received.streams_max.or(self.streams_max).or(Some(usize::MAX));
        self.answer(|out| write_header(out, 0, SETTINGS, ACK, 0));
        self.changed();
        Ok(())
    }

    fn window_update(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), Reason> {
        let bytes: [u8; 4] = payload.try_into().map_err(|_| Reason::FRAME_SIZE_ERROR)?;
        let more = i64::from(u32::from_be_bytes(bytes) & MASK_31);
        if header.stream == 0 {
            self.window += more;
            if more == 0 || self.window > WINDOW_MAX {
                return Err(if more == 0 { Reason::PROTOCOL_ERROR } else { Reason::FLOW_CONTROL_ERROR });
            }
            self.wake_writers();
            return Ok(());
        }
        if !self.was_opened(header.stream) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        let Some(slot) = self.find(header.stream).filter(|slot| self.slots[*slot].broken.is_none()) else { return Ok(()) };
        let stream = &mut self.slots[slot];
        stream.window += more;
        if more == 0 || stream.window > WINDOW_MAX {
            let reason = if more == 0 { Reason::PROTOCOL_ERROR } else { Reason::FLOW_CONTROL_ERROR };
            self.reset(slot, reason, BrokenStream::violated(reason));
        } else {
            stream.wake_writer();
        }
        Ok(())
    }
}

impl Stream {
    /// # Errors
    /// How the fields violate the protocol.
    fn take_fields(&mut self, block: DecodedBlock, ends: bool, now: Nanos) -> Result<(), Reason> {
        let is_late = self.is_received || self.trailers.is_some();
        if is_late || block.malformed || block.too_large {
            return Err(Reason::PROTOCOL_ERROR);
        }
        match (self.status, block.status) {
            // An interim response (RFC 9110, section 15.2). HTTP/2 has no 101.
            (None, Some(101)) => Err(Reason::PROTOCOL_ERROR),
            (None, Some(100..200)) if !ends => Ok(()),
            (None, Some(status @ 200..)) => {
                self.status = Some(status);
                self.content_length = block.content_length;
                self.head = Some(block);
                self.first_byte = now;
                self.wake();
                Ok(())
            }
            (Some(_), None) if ends => {
                self.trailers = Some(block);
                Ok(())
            }
            _ => Err(Reason::PROTOCOL_ERROR),
        }
    }

    /// Whether the data is stored until the reader takes it. `length`: with padding.
    ///
    /// # Errors
    /// How the data violates the protocol.
    fn take_data(&mut self, data: &[u8], length: u32) -> Result<bool, Reason> {
        self.receive_window -= i64::from(length);
        if self.receive_window < 0 {
            return Err(Reason::FLOW_CONTROL_ERROR);
        }
        let status = self.status.filter(|_| !self.is_received).ok_or(Reason::PROTOCOL_ERROR)?;
        self.body_bytes += data.len() as u64;
        let has_no_body = self.plan.is_some_and(|plan| plan.to_head) || matches!(status, 204 | 304);
        let is_long = self.content_length.is_some_and(|length| self.body_bytes > length);
        if !data.is_empty() && (has_no_body || is_long) {
            return Err(Reason::PROTOCOL_ERROR);
        }
        self.unread_bytes += data.len() as u64;
        let is_stored = self.plan.is_some_and(|plan| status >= plan.keep_from);
        if is_stored {
            if self.body.is_empty() {
                // The window bounds what one reading takes.
                self.body.reserve_exact(data.len().max(self.expected_bytes()));
            }
            self.body.extend_from_slice(data);
        }
        Ok(is_stored)
    }

    /// What the head says of the rest of a body, if that is at most a window.
    fn expected_bytes(&self) -> usize {
        let rest = self.content_length.map_or(0, |length| length.saturating_sub(self.body_bytes));
        usize::try_from(rest).unwrap_or(0).min(settings::STREAM_WINDOW_BYTES as usize)
    }
}
