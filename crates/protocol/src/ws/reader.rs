//! Decodes messages from a server's bytes, in pieces of any size. No sockets, no time.

use super::deflate::{Deflate, UnpackError};
use super::frame::Opcode;
use crate::failure::Failure;

/// A message's buffer starts at its frame's length, but no larger than this: a length is only a claim.
const MESSAGE_BUFFER_INITIAL_BYTES_MAX: u64 = 64 * 1024;
/// Longest control frame (RFC 6455, section 5.5). Bytes.
const CONTROL_BYTES_MAX: u64 = 125;

/// A complete item from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerItem {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    /// `None`: without a code.
    Close(Option<u16>, String),
}

/// Why the connection cannot continue, and the close code for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) code: u16,
    pub(crate) failure: Failure,
}

fn broken<T>(what: &str) -> Result<T, Violation> {
    Err(Violation { code: 1002, failure: Failure::protocol(format!("the server violated the WebSocket protocol: {what}")) })
}

#[derive(Debug, Clone, Copy)]
struct FrameHead {
    opcode: Opcode,
    last: bool,
    left: u64,
}

/// Reads one connection.
#[derive(Debug)]
pub(crate) struct MessageReader {
    message_bytes_max: u64,
    /// permessage-deflate was negotiated.
    deflate: bool,
    head: [u8; 10],
    head_bytes: usize,
    frame: Option<FrameHead>,
    /// Kind of the current message, and whether it is compressed.
    message: Option<(Opcode, bool)>,
    content: Vec<u8>,
    control: Vec<u8>,
}

impl MessageReader {
    pub(crate) fn new(message_bytes_max: u64, deflate: bool) -> Self {
        Self {
            message_bytes_max,
            deflate,
            head: [0; 10],
            head_bytes: 0,
            frame: None,
            message: None,
            content: Vec::new(),
            control: Vec::new(),
        }
    }

    /// Reads up to the end of one item. Returns how many bytes it consumed, and the item if it is complete.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        deflate: impl FnMut(&mut Vec<u8>, usize) -> Result<Vec<u8>, UnpackError>,
    ) -> Result<(usize, Option<ServerItem>), Violation> {
        let mut used = 0;
        let mut unpack = deflate;
        loop {
            let frame = match self.frame {
                Some(frame) => frame,
                None if used == bytes.len() => return Ok((used, None)),
                None => {
                    self.head[self.head_bytes] = bytes[used];
                    self.head_bytes += 1;
                    used += 1;
                    let Some(frame) = self.read_head()? else { continue };
                    self.head_bytes = 0;
                    frame
                }
            };
            let length = usize::try_from(frame.left).unwrap_or(usize::MAX).min(bytes.len() - used);
            let target = if frame.opcode.is_control() { &mut self.control } else { &mut self.content };
            target.extend_from_slice(&bytes[used..used + length]);
            used += length;
            if frame.left > length as u64 {
                self.frame = Some(FrameHead { left: frame.left - length as u64, ..frame });
                return Ok((used, None));
            }
            self.frame = None;
            if let Some(item) = self.end_frame(frame, &mut unpack)? {
                return Ok((used, Some(item)));
            }
        }
    }

    /// `None`: the head is incomplete.
    fn read_head(&mut self) -> Result<Option<FrameHead>, Violation> {
        let head = &self.head[..self.head_bytes];
        let &[first, second, ref extended @ ..] = head else { return Ok(None) };
        let left = match (second & 0x7f, extended) {
            (126, &[a, b]) => u64::from(u16::from_be_bytes([a, b])),
            (127, &[a, b, c, d, e, f, g, h]) => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            (126 | 127, _) => return Ok(None),
            (length, _) => u64::from(length),
        };
        self.check_head(first, second, left).map(Some)
    }

    fn check_head(&mut self, first: u8, second: u8, left: u64) -> Result<FrameHead, Violation> {
        let Some(opcode) = Opcode::from_bits(first & 0x0f) else { return broken("a frame has an unknown opcode") };
        let (last, compressed) = (first & 0x80 != 0, first & 0x40 != 0);
        if second & 0x80 != 0 {
            return broken("a server's frame is masked");
        }
        if first & 0x30 != 0 || compressed && !(self.deflate && matches!(opcode, Opcode::Text | Opcode::Binary)) {
            return broken("a reserved bit is set");
        }
        if opcode.is_control() {
            if !last || left > CONTROL_BYTES_MAX {
                return broken("a control frame is fragmented or longer than 125 bytes");
            }
            self.control.clear();
            return Ok(FrameHead { opcode, last, left });
        }
        match (opcode, self.message) {
            (Opcode::Continuation, None) => return broken("a continuation frame has no message to continue"),
            (Opcode::Continuation, Some(_)) => {}
            (_, Some(_)) => return broken("a message begins within another"),
            (_, None) => self.message = Some((opcode, compressed)),
        }
        let total = (self.content.len() as u64).saturating_add(left);
        if total > self.message_bytes_max {
            return Err(too_large());
        }
        self.content.reserve(left.min(MESSAGE_BUFFER_INITIAL_BYTES_MAX) as usize);
        Ok(FrameHead { opcode, last, left })
    }

    fn end_frame(
        &mut self,
        frame: FrameHead,
        unpack: &mut impl FnMut(&mut Vec<u8>, usize) -> Result<Vec<u8>, UnpackError>,
    ) -> Result<Option<ServerItem>, Violation> {
        match frame.opcode {
            Opcode::Ping => return Ok(Some(ServerItem::Ping(std::mem::take(&mut self.control)))),
            Opcode::Pong => return Ok(Some(ServerItem::Pong(std::mem::take(&mut self.control)))),
            Opcode::Close => return read_close(&std::mem::take(&mut self.control)).map(Some),
            _ if !frame.last => return Ok(None),
            _ => {}
        }
        let Some((kind, compressed)) = self.message.take() else { return Ok(None) };
        let mut content = std::mem::take(&mut self.content);
        if compressed {
            let bytes_max = usize::try_from(self.message_bytes_max).unwrap_or(usize::MAX);
            content = match unpack(&mut content, bytes_max) {
                Ok(plain) => plain,
                Err(UnpackError::TooLarge) => return Err(too_large()),
                Err(UnpackError::Malformed) => return broken("a message cannot be decompressed"),
            };
        }
        if kind == Opcode::Binary {
            return Ok(Some(ServerItem::Binary(content)));
        }
        match String::from_utf8(content) {
            Ok(text) => Ok(Some(ServerItem::Text(text))),
            Err(_) => Err(Violation { code: 1007, failure: Failure::protocol("the server sent a text message that is not UTF-8") }),
        }
    }
}

/// Decompresses with the worker's windows.
pub(crate) fn unpacking(deflate: &mut Deflate) -> impl FnMut(&mut Vec<u8>, usize) -> Result<Vec<u8>, UnpackError> {
    |packed, bytes_max| deflate.unpack(packed, bytes_max)
}

fn too_large() -> Violation {
    Violation { code: 1009, failure: Failure::protocol("a message is larger than the limit for messages") }
}

/// RFC 6455, sections 5.5.1 and 7.4.
fn read_close(payload: &[u8]) -> Result<ServerItem, Violation> {
    match payload {
        [] => Ok(ServerItem::Close(None, String::new())),
        [_] => broken("a close frame has an incomplete code"),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return broken("a close frame has a code that may not be sent");
            }
            match std::str::from_utf8(reason) {
                Ok(reason) => Ok(ServerItem::Close(Some(code), reason.to_owned())),
                Err(_) => broken("a close frame's reason is not UTF-8"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
