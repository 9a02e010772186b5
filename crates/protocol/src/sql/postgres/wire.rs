//! Messages of a server (PostgreSQL, "Message Formats"), read in place. `postgres_protocol` encodes outgoing messages.

use crate::failure::Failure;

/// A tag and a length, which includes itself.
const HEAD_BYTES: usize = 5;

/// A message of a sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireMessage<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
    /// Offset of the next message.
    pub(super) next: usize,
}

/// The message that begins here. `None` while it is incomplete.
pub(super) fn message(bytes: &[u8], at: usize) -> Result<Option<WireMessage<'_>>, Failure> {
    let Some(head) = bytes.get(at..at + HEAD_BYTES) else { return Ok(None) };
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if length < 4 || length > i32::MAX as usize {
        return Err(malformed("a message has an impossible length"));
    }
    let next = at + 1 + length;
    Ok(bytes.get(at + HEAD_BYTES..next).map(|body| WireMessage { tag: head[0], body, next }))
}

/// Reads one value after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads up to and including a zero.
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.take(end);
        self.take(1);
        text
    }
}

/// The fields of an error or of a notice, each with its kind.
pub(super) fn fields(body: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut cursor = Cursor(body);
    std::iter::from_fn(move || {
        let kind = cursor.take(1)?[0];
        (kind != 0).then(|| cursor.text()).flatten().map(|value| (kind, value))
    })
}

pub(super) fn malformed(what: &str) -> Failure {
    Failure::protocol(format!("this is not PostgreSQL: {what}"))
}
