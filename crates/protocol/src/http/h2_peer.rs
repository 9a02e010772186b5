//! What the server's bytes on an HTTP/2 connection show beyond what the h2 crate reports.
//!
//! h2 reports a GOAWAY only to the streams that the server did not process, without its debug data. All other streams get the error of the socket that
//! closes afterwards. And it reports a response in HTTP/1.1 as a frame of invalid size. [`WatchedStream`] therefore reads the frame headers along, and
//! [`PeerWatch`] words the failures.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use ::h2::Reason;
use loadstone_metrics::Outcome;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::failure::{Failure, FailureDetail};
use crate::stream::NetworkStream;

/// Length of a frame's header (RFC 9113, section 4.1).
const FRAME_HEADER_BYTES: usize = 9;
/// Type of a GOAWAY frame, and the length of its fixed part: the last stream and the code (RFC 9113, section 6.8).
const GOAWAY: u8 = 7;
const GOAWAY_FIXED_BYTES: usize = 8;
/// Limit on the debug data in a message.
const DEBUG_BYTES_MAX: usize = 200;

/// Why a connection uses HTTP/2 alone. It decides whose failure a server without HTTP/2 is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Http2Need {
    /// The test says so. The server may well serve its requests over HTTP/1.1, so that nothing about the server was measured.
    Chosen,
    /// The server chose it in the TLS handshake.
    Negotiated,
    /// The protocol has no other transport.
    #[default]
    Protocol,
}

/// A connection's stream. It notes what the server sends.
pub(super) struct WatchedStream {
    stream: NetworkStream,
    frames: FrameWalker,
    watch: PeerWatch,
}

/// What the server of one connection has sent. Shared with the task that reads it; the lock is taken when such an event occurs, and to word a failure.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerWatch {
    need: Http2Need,
    notes: Arc<Mutex<PeerNotes>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PeerNotes {
    speaks_http1: bool,
    goaway: Option<Goaway>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Goaway {
    code: u32,
    /// The last stream that the server may have handled. 0: none.
    last_stream: u32,
    debug: Vec<u8>,
}

/// Finds frames in the server's bytes, in pieces of any size.
#[derive(Debug, Default)]
struct FrameWalker {
    header: [u8; FRAME_HEADER_BYTES],
    header_bytes: usize,
    /// Bytes of the current frame's payload that have not arrived.
    left: usize,
    /// The payload of a GOAWAY frame so far.
    goaway: Option<Vec<u8>>,
    /// Whether a frame was found.
    began: bool,
    /// The bytes are not HTTP/2.
    lost: bool,
}

impl WatchedStream {
    pub(super) fn new(stream: NetworkStream, watch: PeerWatch) -> Self {
        Self { stream, frames: FrameWalker::default(), watch }
    }
}

impl FrameWalker {
    fn feed(&mut self, mut bytes: &[u8], watch: &PeerWatch) {
        while !bytes.is_empty() && !self.lost {
            if self.left > 0 {
                let (payload, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= payload.len();
                bytes = rest;
                if let Some(goaway) = &mut self.goaway {
                    let room = (GOAWAY_FIXED_BYTES + DEBUG_BYTES_MAX).saturating_sub(goaway.len());
                    goaway.extend_from_slice(&payload[..payload.len().min(room)]);
                }
            } else {
                let (part, rest) = bytes.split_at((FRAME_HEADER_BYTES - self.header_bytes).min(bytes.len()));
                self.header[self.header_bytes..][..part.len()].copy_from_slice(part);
                self.header_bytes += part.len();
                bytes = rest;
                if self.header_bytes < FRAME_HEADER_BYTES {
                    return;
                }
                self.begin_frame(watch);
            }
            if self.left == 0
                && let Some(goaway) = self.goaway.take()
            {
                watch.note_goaway(&goaway);
            }
        }
    }

    fn begin_frame(&mut self, watch: &PeerWatch) {
        self.header_bytes = 0;
        // A server's first frame is SETTINGS, which never looks like this (RFC 9113, section 3.4).
        if !std::mem::replace(&mut self.began, true) && self.header.starts_with(b"HTTP/1.") {
            self.lost = true;
            watch.notes(|notes| notes.speaks_http1 = true);
            return;
        }
        let [a, b, c, kind, ..] = self.header;
        self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        self.goaway = (kind == GOAWAY).then(Vec::new);
    }
}

impl Http2Need {
    /// The failure of a server without HTTP/2. `shown`: how it showed that.
    pub(super) fn failure(self, shown: &str) -> Failure {
        match self {
            Self::Chosen => Failure::unsendable(format!("{shown}: http2 \"only\" sends nothing else, so use \"auto\" or \"off\"")),
            Self::Negotiated => Failure::protocol(format!("{shown}, which it chose in the TLS handshake (ALPN)")),
            // No HTTP/2 connection came about, so a run in which nothing else happens did not reach its target.
            Self::Protocol => Failure::new(Outcome::Connect, format!("{shown}, which gRPC needs")),
        }
    }
}

impl PeerWatch {
    pub(super) fn new(need: Http2Need) -> Self {
        Self { need, notes: Arc::default() }
    }

    fn notes<T>(&self, with: impl FnOnce(&mut PeerNotes) -> T) -> T {
        with(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_goaway(&self, payload: &[u8]) {
        let Some((fixed, debug)) = payload.split_first_chunk::<GOAWAY_FIXED_BYTES>() else { return };
        let [e, f, g, h, a, b, c, d] = *fixed;
        let last_stream = u32::from_be_bytes([e & 0x7f, f, g, h]);
        let goaway = Goaway { code: u32::from_be_bytes([a, b, c, d]), last_stream, debug: debug.to_vec() };
        self.notes(|notes| notes.goaway = Some(goaway));
    }

    /// Words an error of h2.
    pub(crate) fn failure(&self, error: &::h2::Error) -> Failure {
        let PeerNotes { speaks_http1, goaway } = self.notes(|notes| notes.clone());
        if speaks_http1 {
            return self.need.failure("the server speaks HTTP/1.1, not HTTP/2");
        }
        // A failed stream ended by itself, even if a GOAWAY came before.
        if let Some(goaway) = goaway.filter(|_| !error.is_reset() && !error.is_library()) {
            let failure = Failure::new(Outcome::Reset, format!("the server ended the HTTP/2 connection: {}", goaway.described()));
            // Go has no type of error for the streams of which a GOAWAY says that they were not handled.
            return if goaway.last_stream == 0 { failure } else { failure.with(FailureDetail::Http2Goaway(goaway.code)) };
        }
        if let Some(error) = error.get_io() {
            return match error.kind() {
                // h2 reports the end of the server's bytes like this, too.
                io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                    Failure::new(Outcome::Reset, "the server closed the HTTP/2 connection before the response was complete")
                }
                _ => Failure::broken(error),
            };
        }
        let reason = error.reason().map_or("no reason".to_owned(), described);
        let code = error.reason().map_or(0, u32::from);
        if error.is_library() {
            let failure = Failure::protocol(format!("the server violated HTTP/2: {reason}"));
            let is_of_connection = error.is_go_away();
            return failure.with(if is_of_connection { FailureDetail::Http2Connection(code) } else { FailureDetail::Http2Stream(code) });
        }
        let what = if error.is_go_away() { "the server ended the HTTP/2 connection" } else { "the server reset the HTTP/2 stream" };
        let failure = Failure::new(Outcome::Reset, format!("{what}: {reason}"));
        failure.with(if error.is_go_away() { FailureDetail::Http2Goaway(code) } else { FailureDetail::Http2Stream(code) })
    }
}

/// `ENHANCE_YOUR_CALM (11)`, the name of RFC 9113, section 7.
fn described(reason: Reason) -> String {
    format!("{reason:?} ({})", u32::from(reason))
}

impl Goaway {
    fn described(&self) -> String {
        let reason = described(Reason::from(self.code));
        if self.debug.is_empty() {
            return format!("GOAWAY {reason}");
        }
        format!("GOAWAY {reason} {:?}", String::from_utf8_lossy(&self.debug))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, frames, watch } = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(stream).poll_read(context, buffer);
        frames.feed(&buffer.filled()[before..], watch);
        polled
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.get_mut().stream), context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.get_mut().stream), context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.get_mut().stream), context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(bytes: &[u8], step: usize) -> PeerNotes {
        let (mut walker, watch) = (FrameWalker::default(), PeerWatch::default());
        bytes.chunks(step).for_each(|piece| walker.feed(piece, &watch));
        watch.notes(|notes| notes.clone())
    }

    #[test]
    fn a_goaway_is_found_for_any_division() {
        // SETTINGS with one setting, GOAWAY, an empty DATA frame whose payload would look like a GOAWAY.
        let mut bytes = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2];
        bytes.extend_from_slice(&[0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 11]);
        bytes.extend_from_slice(b"too_many_pings");
        bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0, 1]);
        for step in 1..=bytes.len() {
            let goaway = watched(&bytes, step).goaway.unwrap();
            assert_eq!(goaway.described(), "GOAWAY ENHANCE_YOUR_CALM (11) \"too_many_pings\"", "{step}");
        }
        // The debug data of a hostile server is cut.
        let mut long = vec![0, 4, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        long.extend_from_slice(&[b'x'; 1024]);
        assert_eq!(watched(&long, 100).goaway.unwrap(), Goaway { code: 0, last_stream: 1, debug: vec![b'x'; DEBUG_BYTES_MAX] });
    }

    #[test]
    fn a_server_of_http1_is_recognized_by_its_first_bytes() {
        for step in [1, 4, 100] {
            assert!(watched(b"HTTP/1.1 400 Bad Request\r\n\r\n", step).speaks_http1, "{step}");
        }
        let body = [&[0, 0, 9, 0, 0, 0, 0, 0, 1][..], b"HTTP/1.1 "].concat();
        assert_eq!(watched(&body, 7), PeerNotes::default());
    }
}
