//! Heads of earlier responses. A server sends the same few heads again and again, except for the second in their `Date`, and comparing is cheaper
//! than parsing.

use super::head::{self, ResponseHead};
use crate::failure::Failure;

/// Each response is compared with this many heads.
const KNOWN_HEADS_MAX: usize = 4;
/// A longer head is always parsed.
const BYTES_MAX: usize = 1024;

#[derive(Debug)]
struct KnownHead {
    bytes: Vec<u8>,
    to_head: bool,
    stream_type: Option<&'static str>,
    head: ResponseHead,
}

/// The most recent heads that arrived completely.
#[derive(Debug, Default)]
pub(crate) struct KnownHeads {
    heads: Vec<KnownHead>,
}

impl KnownHeads {
    /// Like [`head::parse`]: the result depends only on the head's bytes, the parameters, and the empty line at its end.
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        to_head: bool,
        stream_type: Option<&'static str>,
    ) -> Result<Option<ResponseHead>, Failure> {
        let is_same = |known: &KnownHead| bytes.starts_with(&known.bytes) && known.to_head == to_head && known.stream_type == stream_type;
        if let Some(at) = self.heads.iter().position(is_same) {
            self.heads.swap(0, at);
            return Ok(Some(self.heads[0].head));
        }
        let Some(head) = head::parse(bytes, to_head, stream_type)? else { return Ok(None) };
        if head.bytes <= BYTES_MAX {
            // Replaces the least recently used head, and reuses its buffer.
            let spare = if self.heads.len() == KNOWN_HEADS_MAX { self.heads.pop() } else { None };
            let mut buffer = spare.map_or_else(Vec::new, |known| known.bytes);
            buffer.clear();
            buffer.extend_from_slice(&bytes[..head.bytes]);
            self.heads.insert(0, KnownHead { bytes: buffer, to_head, stream_type, head });
        }
        Ok(Some(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_head_is_parsed_like_an_unknown_one() {
        let head = |n: usize| format!("HTTP/1.1 {} x\r\nContent-Length: {n}\r\nDate: {n}\r\n\r\n", 200 + n);
        let mut known = KnownHeads::default();
        // Six alternating heads are never known, and the same head twice is. Following bytes, parameters and cuts do not affect the result.
        for n in [0, 0, 1, 0, 2, 3, 4, 5, 0, 1, 1, 5] {
            let text = format!("{}{}", head(n), "body".repeat(n));
            for (to_head, stream_type) in [(false, None), (true, None), (false, Some("text/event-stream"))] {
                for end in [text.len(), head(n).len(), head(n).len() - 1, 3] {
                    let bytes = &text.as_bytes()[..end];
                    assert_eq!(known.parse(bytes, to_head, stream_type), head::parse(bytes, to_head, stream_type), "{n}, {end} bytes");
                }
            }
            assert!(known.heads.len() <= KNOWN_HEADS_MAX);
        }
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(BYTES_MAX));
        assert!(known.parse(long.as_bytes(), false, None).unwrap().is_some());
        assert!(known.heads.iter().all(|known| known.bytes.len() <= BYTES_MAX));
    }

    #[test]
    fn a_head_with_a_known_prefix_is_not_a_known_head() {
        let mut known = KnownHeads::default();
        let shorter = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
        assert!(known.parse(shorter, false, None).unwrap().is_some());
        let other = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n";
        assert!(!known.parse(other, false, None).unwrap().unwrap().keep_alive);
        assert!(known.parse(shorter, false, None).unwrap().unwrap().keep_alive);
        assert!(known.parse(b"SSH-2.0", false, None).is_err());
    }
}
