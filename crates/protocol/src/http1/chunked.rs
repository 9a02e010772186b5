//! The chunked transfer coding (RFC 9112, section 7.1), read from pieces of any size.

use crate::failure::Failure;
use crate::token::is_token;

/// Limit on the bytes of chunk extensions in one body, which Loadstone ignores.
pub(crate) const EXTENSION_BYTES_MAX: u32 = 16 * 1024;
/// Limit on the bytes of trailers.
pub(crate) const TRAILER_BYTES_MAX: u32 = 64 * 1024;

/// The position of the next byte in the coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkPosition {
    /// At the first digit of a chunk size.
    SizeStart,
    Size,
    /// Spaces after the size.
    SizeEnd,
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    /// At the start of a trailer line, or of the empty line that ends the body.
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    EndLineFeed,
    Done,
}

/// Reads one chunked body.
#[derive(Debug)]
pub(crate) struct Chunked {
    position: ChunkPosition,
    /// Remaining bytes of the current chunk.
    left: u64,
    extension_bytes: u32,
    trailer_bytes: u32,
    /// The trailer lines so far, each with its line feed.
    trailers: Vec<u8>,
    /// Where the current trailer line begins.
    line_start: usize,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { position: ChunkPosition::SizeStart, left: 0, extension_bytes: 0, trailer_bytes: 0, trailers: Vec::new(), line_start: 0 }
    }

    /// The trailer lines, when the body is done.
    pub(crate) fn take_trailers(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.trailers)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.position == ChunkPosition::Done
    }

    /// Reads from `bytes`, passes content to `content`, and returns how many bytes belong to the body.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut content: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<usize, Failure> {
        let mut at = 0;
        while at < bytes.len() && self.position != ChunkPosition::Done {
            if self.position == ChunkPosition::Data {
                let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                content(&bytes[at..at + length])?;
                at += length;
                self.left -= length as u64;
                if self.left == 0 {
                    self.position = ChunkPosition::DataReturn;
                }
            } else {
                self.position = self.step(bytes[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    fn step(&mut self, byte: u8) -> Result<ChunkPosition, Failure> {
        let wrong = |what: &str| Err(Failure::protocol(format!("the response's chunked body is malformed: {what}")));
        Ok(match (self.position, byte) {
            (ChunkPosition::SizeStart | ChunkPosition::Size, digit) if digit.is_ascii_hexdigit() => {
                let digit = u64::from((digit as char).to_digit(16).unwrap_or_default());
                let left = self.left.checked_mul(16).and_then(|left| left.checked_add(digit));
                match left {
                    Some(left) => self.left = left,
                    None => return wrong("a chunk size is too large"),
                }
                ChunkPosition::Size
            }
            (ChunkPosition::SizeStart, _) => return wrong("a chunk has no size"),
            (ChunkPosition::Size | ChunkPosition::SizeEnd, b' ' | b'\t') => ChunkPosition::SizeEnd,
            (ChunkPosition::Size | ChunkPosition::SizeEnd, b';') => ChunkPosition::Extension,
            (ChunkPosition::Size | ChunkPosition::SizeEnd | ChunkPosition::Extension, b'\r') => ChunkPosition::SizeLineFeed,
            (ChunkPosition::Size | ChunkPosition::SizeEnd, _) => return wrong("a chunk size is not a number"),
            (ChunkPosition::Extension, b'\n') => return wrong("a chunk extension ends without a carriage return"),
            (ChunkPosition::Extension, _) => {
                self.extension_bytes += 1;
                if self.extension_bytes > EXTENSION_BYTES_MAX {
                    return wrong("its extensions are longer than 16 KiB");
                }
                ChunkPosition::Extension
            }
            (ChunkPosition::SizeLineFeed, b'\n') if self.left == 0 => ChunkPosition::TrailerStart,
            (ChunkPosition::SizeLineFeed, b'\n') => ChunkPosition::Data,
            (ChunkPosition::DataReturn, b'\r') => ChunkPosition::DataLineFeed,
            (ChunkPosition::DataLineFeed, b'\n') => ChunkPosition::SizeStart,
            (ChunkPosition::DataReturn | ChunkPosition::DataLineFeed, _) => return wrong("a chunk is longer than its size"),
            (ChunkPosition::TrailerStart, b'\r') => ChunkPosition::EndLineFeed,
            (ChunkPosition::EndLineFeed, b'\n') => ChunkPosition::Done,
            (ChunkPosition::Trailer, b'\r') => ChunkPosition::TrailerLineFeed,
            (ChunkPosition::TrailerLineFeed, b'\n') => {
                if !is_field(&self.trailers[self.line_start..], self.line_start == 0) {
                    return wrong("a trailer is not a header");
                }
                self.trailers.push(b'\n');
                self.line_start = self.trailers.len();
                ChunkPosition::TrailerStart
            }
            (ChunkPosition::TrailerStart | ChunkPosition::Trailer, byte) if byte != b'\n' => {
                self.trailer_bytes += 1;
                if self.trailer_bytes > TRAILER_BYTES_MAX {
                    return wrong("its trailers are longer than 64 KiB");
                }
                self.trailers.push(byte);
                ChunkPosition::Trailer
            }
            _ => return wrong("a line end is wrong"),
        })
    }
}

/// Whether a line without its end is a header field, or continues the one before it. Values are read as those of a head: NUL is refused.
fn is_field(line: &[u8], is_first: bool) -> bool {
    if line.contains(&0) {
        return false;
    }
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return !is_first;
    }
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    name.len() < line.len() && is_token(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(wire: &[u8], piece: usize) -> Result<(Vec<u8>, usize, bool), String> {
        let mut chunked = Chunked::new();
        let mut body = Vec::new();
        let mut used = 0;
        for part in wire.chunks(piece.max(1)) {
            used += chunked
                .feed(part, |bytes| {
                    body.extend_from_slice(bytes);
                    Ok(())
                })
                .map_err(|failure| failure.message)?;
        }
        Ok((body, used, chunked.is_done()))
    }

    #[test]
    fn every_split_reads_the_same() {
        let wire = b"4\r\nWiki\r\n6;name=\"v\"\r\npedia \r\nA \r\nin chunks.\r\n0\r\nExpires: never\r\nX: y\r\n\r\nHTTP/1.1";
        for piece in 1..=wire.len() {
            let (body, used, done) = read(wire, piece).unwrap();
            assert_eq!(body, b"Wikipedia in chunks.", "pieces of {piece}");
            assert!(done);
            assert_eq!(used, wire.len() - b"HTTP/1.1".len());
        }
    }

    #[test]
    fn malformed_bodies_are_refused() {
        for wire in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "4\nWiki\r\n",
            "4\r\nWikix\r\n",
            "4\r\nWiki\rx",
            "4 4\r\nWiki\r\n",
            "11111111111111111\r\n",
            "4;x\nWiki\r\n",
            "0\r\n\n",
            "0\r\nA: b\n\r\n",
            "0\r\nno header\r\n\r\n",
            "0\r\n: b\r\n\r\n",
            "0\r\nA : b\r\n\r\n",
            "0\r\nA: b\0\r\n\r\n",
            "0\r\n A: b\r\n\r\n",
            "0\r\nA: b\r\nno header\r\n\r\n",
            "0\r\n\rx",
        ] {
            assert!(read(wire.as_bytes(), 100).is_err(), "{wire:?}");
        }
        let long = format!("4;{}\r\n", "x".repeat(20_000));
        assert!(read(long.as_bytes(), 100).is_err());
        let long = format!("0\r\n{}\r\n", "a: b\r\n".repeat(20_000));
        assert!(read(long.as_bytes(), 100).is_err());
    }

    #[test]
    fn trailers_are_kept_as_they_came() {
        let wire = b"1\r\na\r\n0\r\nDigest: x\r\n y\r\nB:\xff\r\n\r\n";
        for piece in 1..=wire.len() {
            let mut chunked = Chunked::new();
            wire.chunks(piece).for_each(|part| assert_eq!(chunked.feed(part, |_| Ok(())), Ok(part.len())));
            assert!(chunked.is_done());
            assert_eq!(chunked.take_trailers(), b"Digest: x\n y\nB:\xff\n", "pieces of {piece}");
        }
    }

    #[test]
    fn an_unfinished_body_is_not_done() {
        let wire = b"4\r\nWiki\r\n0\r\n\r\n";
        for end in 0..wire.len() {
            assert!(!read(&wire[..end], 100).unwrap().2, "{end}");
        }
        assert!(read(wire, 100).unwrap().2);
    }
}
