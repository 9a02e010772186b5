//! Messages with their prefix: one byte for compression, four bytes for the length (specification, "Length-Prefixed-Message").

use std::io::{Read, Write};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::failure::Failure;

const PREFIX_BYTES: usize = 5;

/// A message in its wire format.
pub(super) fn framed(message: &[u8], gzip: bool) -> Bytes {
    let compressed = if gzip { compress(message) } else { None };
    let body = compressed.as_deref().unwrap_or(message);
    let mut frame = BytesMut::with_capacity(PREFIX_BYTES + body.len());
    frame.put_u8(u8::from(compressed.is_some()));
    // Unreachable for real messages: 4 GiB exceeds earlier limits.
    frame.put_u32(u32::try_from(body.len()).unwrap_or(u32::MAX));
    frame.put_slice(body);
    frame.freeze()
}

/// `None` if compression fails, which cannot happen when writing to memory.
fn compress(message: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(message).ok()?;
    encoder.finish().ok()
}

/// The message of a body that contains exactly one, without copying. `None` if the body contains more.
pub(super) fn sole(body: &Bytes, message_bytes_max: u64) -> Option<Bytes> {
    let [0, length @ ..] = *body.first_chunk::<PREFIX_BYTES>()? else { return None };
    let length = u32::from_be_bytes(length) as usize;
    (length as u64 <= message_bytes_max && body.len() == PREFIX_BYTES + length).then(|| body.slice(PREFIX_BYTES..))
}

/// Extracts messages from incoming bytes, in pieces of any size.
#[derive(Debug)]
pub(super) struct FrameReader {
    arrived: BytesMut,
    /// According to `grpc-encoding`.
    gzip: bool,
    message_bytes_max: u64,
}

impl FrameReader {
    pub(super) fn new(encoding: Option<&str>, message_bytes_max: u64) -> Self {
        Self { arrived: BytesMut::new(), gzip: encoding == Some("gzip"), message_bytes_max }
    }

    pub(super) fn feed(&mut self, piece: &[u8]) {
        self.arrived.extend_from_slice(piece);
    }

    /// The next message that has arrived completely.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some(prefix) = self.arrived.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let [flag, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        if length as u64 > self.message_bytes_max {
            return Err(too_large());
        }
        if flag > 1 || flag == 1 && !self.gzip {
            return Err(Failure::protocol("a message uses a compression that the request did not offer"));
        }
        if self.arrived.len() < PREFIX_BYTES + length {
            return Ok(None);
        }
        self.arrived.advance(PREFIX_BYTES);
        let message = self.arrived.split_to(length).freeze();
        if flag == 0 { Ok(Some(message)) } else { self.decompress(&message).map(Some) }
    }

    fn decompress(&self, message: &[u8]) -> Result<Bytes, Failure> {
        let mut plain = Vec::new();
        let limit = self.message_bytes_max.saturating_add(1);
        MultiGzDecoder::new(message)
            .take(limit)
            .read_to_end(&mut plain)
            .map_err(|_| Failure::protocol("a message is marked as gzip but is not gzip"))?;
        if plain.len() as u64 > self.message_bytes_max { Err(too_large()) } else { Ok(plain.into()) }
    }

    /// # Errors
    /// A message was cut off.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        if self.arrived.is_empty() { Ok(()) } else { Err(Failure::protocol("the response ended within a message")) }
    }
}

fn too_large() -> Failure {
    Failure::protocol("a message is larger than `bodyBytesMax` allows")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], step: usize, encoding: Option<&str>) -> Result<Vec<Bytes>, Failure> {
        let mut reader = FrameReader::new(encoding, 100);
        let mut messages = Vec::new();
        for piece in bytes.chunks(step) {
            reader.feed(piece);
            while let Some(message) = reader.next()? {
                messages.push(message);
            }
        }
        reader.finish().map(|()| messages)
    }

    #[test]
    fn messages_are_read_for_any_division() {
        // As the specification defines them: flag, length in four bytes, message.
        let plain = b"\0\0\0\0\x03abc\0\0\0\0\0\0\0\0\0\x01z";
        for step in 1..=plain.len() {
            assert_eq!(read(plain, step, None).unwrap(), ["abc", "", "z"], "{step}");
        }
        let packed = [framed(&[b'x'; 90], true), framed(b"y", false)].concat();
        assert_eq!((packed[0], packed.len() < 90), (1, true));
        assert_eq!(read(&packed, 7, Some("gzip")).unwrap(), [&[b'x'; 90][..], b"y"]);
    }

    #[test]
    fn invalid_and_large_messages_are_reported() {
        assert!(read(&plain(101), 200, None).unwrap_err().message.contains("larger"));
        assert!(read(&framed(&[0; 101], true), 200, Some("gzip")).unwrap_err().message.contains("larger"));
        assert!(read(&framed(b"abc", true), 9, None).unwrap_err().message.contains("did not offer"));
        assert!(read(b"\x01\0\0\0\x01a", 9, Some("gzip")).unwrap_err().message.contains("not gzip"));
        assert!(read(&plain(3)[..7], 9, None).unwrap_err().message.contains("within a message"));
    }

    #[test]
    fn a_body_of_one_message_is_not_copied() {
        assert_eq!(sole(&plain(3), 3).unwrap(), "aaa");
        assert_eq!(sole(&plain(0), 3).unwrap(), "");
        let two = Bytes::from([plain(1), plain(1)].concat());
        for other in [plain(4), plain(3).slice(..7), two, framed(b"a", true), Bytes::new()] {
            assert_eq!(sole(&other, 3), None);
        }
    }

    fn plain(length: usize) -> Bytes {
        framed(&vec![b'a'; length], false)
    }
}
