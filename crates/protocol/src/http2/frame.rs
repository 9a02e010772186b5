//! The wire format of frames (RFC 9113, sections 4.1 and 6).

use super::reason::Reason;

/// What a client sends first (section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const HEADER_BYTES: usize = 9;
/// The payload that every peer accepts, and that this client accepts (section 4.2).
pub(super) const PAYLOAD_BYTES_DEFAULT: usize = 16_384;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flags. ACK is END_STREAM's bit, for other types.
pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// Streams and windows have 31 bits.
pub(super) const MASK_31: u32 = 0x7fff_ffff;

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        Self { length, kind, flags, stream: u32::from_be_bytes(stream) & MASK_31 }
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let [.., a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        [a, b, c, self.kind, self.flags, d, e, f, g]
    }
}

/// The payload of DATA or HEADERS without its padding and priority. `None`: the padding is longer than the payload.
pub(super) fn unpadded(header: FrameHeader, mut payload: &[u8]) -> Option<&[u8]> {
    let mut padding = 0;
    if header.has(PADDED) {
        let (length, rest) = payload.split_first()?;
        (padding, payload) = (usize::from(*length), rest);
    }
    if header.kind == HEADERS && header.has(WITH_PRIORITY) {
        payload = payload.get(5..)?;
    }
    payload.get(..payload.len().checked_sub(padding)?)
}

pub(super) fn write_header(into: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    into.extend_from_slice(&FrameHeader { length, kind, flags, stream }.bytes());
}

/// A block as HEADERS, and as CONTINUATION as far as it does not fit.
pub(super) fn write_block(into: &mut Vec<u8>, stream: u32, ends: bool, payload_bytes_max: usize, block: &[u8]) {
    let mut kind = HEADERS;
    let mut rest = block;
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(payload_bytes_max));
        let end_headers = if behind.is_empty() { END_HEADERS } else { 0 };
        let end_stream = if ends && kind == HEADERS { END_STREAM } else { 0 };
        write_header(into, piece.len(), kind, end_headers | end_stream, stream);
        into.extend_from_slice(piece);
        (kind, rest) = (CONTINUATION, behind);
        if rest.is_empty() {
            return;
        }
    }
}

pub(super) fn write_reset(into: &mut Vec<u8>, stream: u32, reason: Reason) {
    write_header(into, 4, RST_STREAM, 0, stream);
    into.extend_from_slice(&reason.0.to_be_bytes());
}

pub(super) fn write_window_update(into: &mut Vec<u8>, stream: u32, bytes: u32) {
    write_header(into, 4, WINDOW_UPDATE, 0, stream);
    into.extend_from_slice(&bytes.to_be_bytes());
}

pub(super) fn write_goaway(into: &mut Vec<u8>, reason: Reason) {
    write_header(into, 8, GOAWAY, 0, 0);
    // No stream of the server exists.
    into.extend_from_slice(&[0; 4]);
    into.extend_from_slice(&reason.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back() {
        let header = FrameHeader { length: 0x01_02_03, kind: DATA, flags: PADDED, stream: MASK_31 };
        assert_eq!(FrameHeader::read(&header.bytes()), header);
        // The reserved bit of a stream is ignored.
        assert_eq!(FrameHeader::read(&[0, 0, 0, 6, 1, 0x80, 0, 0, 0]).stream, 0);
    }

    #[test]
    fn padding_and_priority_are_removed() {
        let header = |kind, flags| FrameHeader { length: 0, kind, flags, stream: 1 };
        assert_eq!(unpadded(header(DATA, 0), b"abc"), Some(&b"abc"[..]));
        assert_eq!(unpadded(header(DATA, PADDED), b"\x01ab\0"), Some(&b"ab"[..]));
        assert_eq!(unpadded(header(DATA, PADDED), b"\x02\0\0"), Some(&b""[..]));
        assert_eq!(unpadded(header(HEADERS, PADDED | WITH_PRIORITY), b"\x01\0\0\0\0\x10a\0"), Some(&b"a"[..]));
        for (kind, flags, bad) in [(DATA, PADDED, &b""[..]), (DATA, PADDED, b"\x03\0\0"), (HEADERS, WITH_PRIORITY, b"\0\0\0\0")] {
            assert_eq!(unpadded(header(kind, flags), bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_long_block_continues() {
        let mut written = Vec::new();
        write_block(&mut written, 3, true, 2, b"abc");
        let first = [0, 0, 2, HEADERS, END_STREAM, 0, 0, 0, 3, b'a', b'b'];
        let second = [0, 0, 1, CONTINUATION, END_HEADERS, 0, 0, 0, 3, b'c'];
        assert_eq!(written, [&first[..], &second].concat());
        written.clear();
        write_block(&mut written, 1, false, 2, b"");
        assert_eq!(written, [0, 0, 0, HEADERS, END_HEADERS, 0, 0, 0, 1]);
    }
}
