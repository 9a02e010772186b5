//! Reads one response from the bytes of a connection, in pieces of any size. No sockets, no time.
//!
//! [`ResponseReader::feed`] takes the bytes of a read, [`ResponseReader::finish`] handles the peer's close. A response that arrives whole is parsed
//! in place. Only the head of one that does not is collected in a buffer.

use bytes::Bytes;
use loadstone_metrics::Outcome;

use super::chunked::Chunked;
use super::head::{self, Framing, HEAD_BYTES_MAX, ResponseHead};
use super::known_heads::KnownHeads;
use crate::failure::Failure;

/// A body's buffer starts at its declared length, but no larger than this: a length is only a claim.
const BODY_BUFFER_INITIAL_BYTES_MAX: u64 = 64 * 1024;

/// Which parts of a response to read, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadPlan {
    /// The request was HEAD.
    pub(crate) to_head: bool,
    /// The request asked to switch protocols: status 101 is a response, and following bytes belong to the other protocol.
    pub(crate) upgrade: bool,
    /// A body of this media type is delivered piece by piece.
    pub(crate) stream_type: Option<&'static str>,
    pub(crate) headers: bool,
    pub(crate) body: bool,
    /// From this status on, headers and body are kept in any case.
    pub(crate) keep_from: Option<u16>,
    /// Limit for the body as sent, in bytes.
    pub(crate) body_bytes_max: u64,
}

#[derive(Debug)]
enum ReadState {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Reads one response.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    plan: ReadPlan,
    state: ReadState,
    /// The head so far, while it is incomplete.
    partial: Vec<u8>,
    /// `partial` is parsed again when it has this length, or contains an empty line.
    parse_at: usize,
    /// Bytes of interim responses.
    interim_bytes: usize,
    body_bytes: u64,
    /// The caller takes the body piece by piece.
    pub(crate) streaming: bool,
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
    /// The server has asked for the body of the request (status 100).
    pub(crate) continued: bool,
    /// The body has a content coding.
    pub(crate) encoded: bool,
    pub(crate) sets_cookies: bool,
    pub(crate) head: Bytes,
    pub(crate) body: Vec<u8>,
    /// Trailer lines of a chunked body, each with its line feed.
    pub(crate) trailers: Vec<u8>,
}

impl ResponseReader {
    pub(crate) fn new(plan: ReadPlan) -> Self {
        Self {
            plan,
            state: ReadState::Head,
            partial: Vec::new(),
            parse_at: 0,
            interim_bytes: 0,
            body_bytes: 0,
            streaming: false,
            status: 0,
            keep_alive: false,
            continued: false,
            encoded: false,
            sets_cookies: false,
            head: Bytes::new(),
            body: Vec::new(),
            trailers: Vec::new(),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, ReadState::Done)
    }

    /// Whether nothing of the final response has arrived.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(self.state, ReadState::Head) && self.partial.is_empty()
    }

    /// Takes the part of a streamed body that has arrived, and resets its limit.
    pub(crate) fn take_piece(&mut self) -> Vec<u8> {
        self.body_bytes = 0;
        std::mem::take(&mut self.body)
    }

    /// Whether the final head has been read and the body is incomplete.
    pub(crate) fn in_body(&self) -> bool {
        !matches!(self.state, ReadState::Head | ReadState::Done)
    }

    /// Reads the bytes that have arrived. Returns how many belonged to the response. Fewer than passed means that the peer sent more than the
    /// response.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        self.feed_after(&mut KnownHeads::default(), bytes)
    }

    /// Like [`Self::feed`], using the heads of earlier responses.
    pub(crate) fn feed_after(&mut self, known: &mut KnownHeads, bytes: &[u8]) -> Result<usize, Failure> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            match &mut self.state {
                ReadState::Head => used += self.feed_head(known, rest)?,
                ReadState::Done => break,
                _ => used += self.feed_body(rest)?,
            }
        }
        Ok(used)
    }

    /// Handles the peer's close: the end of some bodies, a failure in all other states.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        match self.state {
            ReadState::Done => Ok(()),
            ReadState::UntilClose => {
                self.state = ReadState::Done;
                Ok(())
            }
            ReadState::Head if self.partial.is_empty() => {
                Err(Failure::new(Outcome::Reset, "the server closed the connection without a response"))
            }
            ReadState::Head => Err(Failure::new(Outcome::Reset, "the server closed the connection in the middle of the response's head")),
            ReadState::Length(_) | ReadState::Chunked(_) => {
                Err(Failure::new(Outcome::Reset, "the server closed the connection before the body was complete"))
            }
        }
    }

    fn feed_head(&mut self, known: &mut KnownHeads, bytes: &[u8]) -> Result<usize, Failure> {
        if self.partial.is_empty() {
            return match known.parse(bytes, self.plan.to_head, self.plan.stream_type)? {
                Some(head) => {
                    self.take_head(head, bytes)?;
                    Ok(head.bytes)
                }
                None => self.gather(bytes),
            };
        }
        let before = self.partial.len();
        self.gather(bytes)?;
        // Searching for the empty line first prevents a head that arrives slowly from being parsed once per byte.
        let from = before.saturating_sub(3);
        if self.partial.len() < self.parse_at && !has_empty_line(&self.partial[from..]) {
            return Ok(bytes.len());
        }
        self.parse_at = self.partial.len() * 2;
        let Some(head) = head::parse(&self.partial, self.plan.to_head, self.plan.stream_type)? else { return Ok(bytes.len()) };
        let gathered = std::mem::take(&mut self.partial);
        self.take_head(head, &gathered)?;
        Ok(head.bytes - before)
    }

    fn gather(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        if self.partial.len() + self.interim_bytes + bytes.len() > HEAD_BYTES_MAX {
            return Err(Failure::protocol("the response's head is longer than 256 KiB"));
        }
        self.partial.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn take_head(&mut self, head: ResponseHead, bytes: &[u8]) -> Result<(), Failure> {
        if head.status < 200 && !(head.status == 101 && self.plan.upgrade) {
            if head.status == 101 {
                return Err(Failure::protocol("the response switches protocols, but the request did not ask for that"));
            }
            self.continued |= head.status == 100;
            self.interim_bytes += head.bytes;
            if self.interim_bytes > HEAD_BYTES_MAX {
                return Err(Failure::protocol("the response's head is longer than 256 KiB"));
            }
            self.parse_at = 0;
            return Ok(());
        }
        self.status = head.status;
        self.keep_alive = head.keep_alive && head.framing != Framing::UntilClose;
        self.encoded = head.encoded;
        self.sets_cookies = head.sets_cookies;
        self.streaming = head.is_stream && head.status == 200;
        if self.plan.keep_from.is_some_and(|from| head.status >= from) {
            (self.plan.headers, self.plan.body) = (true, true);
        }
        if self.plan.headers {
            self.head = Bytes::copy_from_slice(&bytes[..head.bytes]);
        }
        self.state = match head.framing {
            Framing::Length(0) => ReadState::Done,
            Framing::Length(length) => {
                self.check_size(length)?;
                if self.plan.body {
                    self.body.reserve_exact(length.min(BODY_BUFFER_INITIAL_BYTES_MAX) as usize);
                }
                ReadState::Length(length)
            }
            Framing::Chunked => ReadState::Chunked(Chunked::new()),
            Framing::UntilClose => ReadState::UntilClose,
        };
        Ok(())
    }

    fn feed_body(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        match &mut self.state {
            ReadState::Length(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= length as u64;
                if *left == 0 {
                    self.state = ReadState::Done;
                }
                if self.plan.body {
                    self.body.extend_from_slice(&bytes[..length]);
                }
                Ok(length)
            }
            ReadState::Chunked(chunked) => {
                let mut kept = GrowingBody { plan: &self.plan, body: &mut self.body, bytes: &mut self.body_bytes };
                let used = chunked.feed(bytes, |content| kept.add(content))?;
                if chunked.is_done() {
                    self.trailers = chunked.take_trailers();
                    self.state = ReadState::Done;
                }
                Ok(used)
            }
            ReadState::UntilClose => {
                GrowingBody { plan: &self.plan, body: &mut self.body, bytes: &mut self.body_bytes }.add(bytes)?;
                Ok(bytes.len())
            }
            ReadState::Head | ReadState::Done => Ok(0),
        }
    }

    fn check_size(&self, bytes: u64) -> Result<(), Failure> {
        // A body that is not kept may have any length.
        let is_limited = self.plan.body && !self.streaming;
        if is_limited && bytes > self.plan.body_bytes_max { Err(too_large()) } else { Ok(()) }
    }
}

pub(crate) fn too_large() -> Failure {
    Failure::protocol("the body is larger than `bodyBytesMax` allows")
}

/// A body of unknown length while it grows.
struct GrowingBody<'a> {
    plan: &'a ReadPlan,
    body: &'a mut Vec<u8>,
    bytes: &'a mut u64,
}

impl GrowingBody<'_> {
    fn add(&mut self, content: &[u8]) -> Result<(), Failure> {
        *self.bytes += content.len() as u64;
        if self.plan.body {
            if *self.bytes > self.plan.body_bytes_max {
                return Err(too_large());
            }
            self.body.extend_from_slice(content);
        }
        Ok(())
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| match bytes.get(at + 1) {
        Some(b'\n') => true,
        Some(b'\r') => bytes.get(at + 2) == Some(&b'\n'),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ReadPlan =
        ReadPlan { to_head: false, upgrade: false, stream_type: None, headers: true, body: true, keep_from: None, body_bytes_max: 1 << 20 };

    #[derive(Debug, PartialEq)]
    struct Read {
        status: u16,
        body: String,
        keep_alive: bool,
        used: usize,
    }

    /// Feeds the pieces until the response is done, then the end of the connection.
    fn read(pieces: &[&[u8]], plan: ReadPlan) -> Result<Read, Failure> {
        let mut reader = ResponseReader::new(plan);
        let mut used = 0;
        for piece in pieces {
            used += reader.feed(piece)?;
        }
        reader.finish()?;
        let body = String::from_utf8(std::mem::take(&mut reader.body)).unwrap();
        Ok(Read { status: reader.status, body, keep_alive: reader.keep_alive, used })
    }

    fn check_all_splits(wire: &str, expected: (u16, &str, bool)) {
        let wire = wire.as_bytes();
        let whole = read(&[wire], ALL).unwrap();
        assert_eq!((whole.status, &*whole.body, whole.keep_alive), expected);
        for at in 0..=wire.len() {
            assert_eq!(read(&[&wire[..at], &wire[at..]], ALL).as_ref(), Ok(&whole), "split at {at}");
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(read(&bytes, ALL), Ok(whole));
    }

    #[test]
    fn every_split_of_every_kind_reads_the_same() {
        check_all_splits("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", (200, "hello", true));
        check_all_splits("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nConnection: close\r\n\r\n", (404, "", false));
        check_all_splits("HTTP/1.1 204 No Content\r\n\r\n", (204, "", true));
        check_all_splits("HTTP/1.0 200 OK\r\n\r\nuntil the end", (200, "until the end", false));
        check_all_splits(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n",
            (200, "abcde", true),
        );
        check_all_splits(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
            (201, "ok", true),
        );
        check_all_splits("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", (200, "ok", true));
    }

    #[test]
    fn bytes_after_the_response_are_not_consumed() {
        let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n";
        let mut reader = ResponseReader::new(ALL);
        assert_eq!(reader.feed(wire).unwrap(), wire.len() - 17);
        assert!(reader.is_done());
    }

    #[test]
    fn a_response_that_ends_early_is_a_reset() {
        let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        for end in 0..wire.len() {
            assert_eq!(read(&[&wire[..end]], ALL).unwrap_err().outcome, Outcome::Reset, "{end}");
        }
    }

    #[test]
    fn limits_hold() {
        let small = ReadPlan { body_bytes_max: 4, ..ALL };
        for wire in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            b"HTTP/1.1 200 OK\r\n\r\nhello",
        ] {
            assert_eq!(read(&[wire], small), Err(too_large()));
            let mut discarding = ResponseReader::new(ReadPlan { body: false, ..small });
            assert_eq!(discarding.feed(wire).map_err(|failure| failure.message), Ok(wire.len()));
        }
        let mut endless = ResponseReader::new(ALL);
        endless.feed(b"HTTP/1.1 200 OK\r\n").unwrap();
        let failed = (0..1_000_000).find_map(|_| endless.feed(b"X-Endless: line\r\n").err()).unwrap();
        assert_eq!(failed.outcome, Outcome::Protocol);
        let mut interim = ResponseReader::new(ALL);
        let failed = (0..1_000_000).find_map(|_| interim.feed(b"HTTP/1.1 100 Continue\r\n\r\n").err()).unwrap();
        assert_eq!(failed.message, "the response's head is longer than 256 KiB");
    }

    #[test]
    fn discarded_bodies_are_counted_but_not_kept() {
        let mut reader = ResponseReader::new(ReadPlan { headers: false, body: false, ..ALL });
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap();
        assert!(reader.is_done() && reader.body.capacity() == 0 && reader.head.is_empty());
    }

    #[test]
    fn the_content_of_failed_responses_is_kept() {
        for (status, kept) in [(200, ""), (399, ""), (400, "hello"), (503, "hello")] {
            let mut reader = ResponseReader::new(ReadPlan { headers: false, body: false, keep_from: Some(400), ..ALL });
            reader.feed(format!("HTTP/1.1 {status} x\r\nContent-Length: 5\r\n\r\nhello").as_bytes()).unwrap();
            assert_eq!((reader.is_done(), reader.body.as_slice(), reader.head.is_empty()), (true, kept.as_bytes(), kept.is_empty()));
        }
    }
}
