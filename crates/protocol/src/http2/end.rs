//! Why streams and connections end, in words.

use loadstone_metrics::Outcome;

use super::reason::Reason;
use crate::failure::{Failure, FailureDetail};

/// Limit on the debug data in a message. Bytes.
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

impl Http2Need {
    /// The failure of a server without HTTP/2. `shown`: how it showed that.
    pub(crate) fn failure(self, shown: &str) -> Failure {
        match self {
            Self::Chosen => Failure::unsendable(format!("{shown}: http2 \"only\" sends nothing else, so use \"auto\" or \"off\"")),
            Self::Negotiated => Failure::protocol(format!("{shown}, which it chose in the TLS handshake (ALPN)")),
            // No HTTP/2 connection came about, so a run in which nothing else happens did not reach its target.
            Self::Protocol => Failure::new(Outcome::Connect, format!("{shown}, which gRPC needs")),
        }
    }
}

/// A request without a complete response.
#[derive(Debug, Clone)]
pub(crate) struct BrokenStream {
    pub(crate) failure: Failure,
    /// The server declared that it has not begun to process the request, or never received it: it refused the stream, or ended the connection
    /// gracefully. The request may be resent with any method (RFC 9113, section 8.7).
    pub(crate) unprocessed: bool,
}

impl From<Failure> for BrokenStream {
    fn from(failure: Failure) -> Self {
        Self { failure, unprocessed: false }
    }
}

impl BrokenStream {
    pub(super) fn reset(reason: Reason) -> Self {
        let failure = Failure::new(Outcome::Reset, format!("the server reset the HTTP/2 stream: {reason}"));
        Self { failure: failure.with(FailureDetail::Http2Stream(reason.0)), unprocessed: reason == Reason::REFUSED_STREAM }
    }

    pub(super) fn violated(reason: Reason) -> Self {
        violation(reason).with(FailureDetail::Http2Stream(reason.0)).into()
    }
}

fn violation(reason: Reason) -> Failure {
    Failure::protocol(format!("the server violated HTTP/2: {reason}"))
}

/// The server's announcement that it ends the connection (RFC 9113, section 6.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Goaway {
    pub(super) reason: Reason,
    /// The last stream that the server may have handled. 0: none.
    pub(super) last_stream: u32,
    debug: Vec<u8>,
}

impl Goaway {
    pub(super) fn read(payload: &[u8]) -> Option<Self> {
        let (fixed, debug) = payload.split_first_chunk::<8>()?;
        let [a, b, c, d, reason @ ..] = *fixed;
        let last_stream = u32::from_be_bytes([a, b, c, d]) & super::frame::MASK_31;
        let debug = debug[..debug.len().min(DEBUG_BYTES_MAX)].to_vec();
        Some(Self { reason: Reason(u32::from_be_bytes(reason)), last_stream, debug })
    }

    fn failure(&self) -> Failure {
        let debug = if self.debug.is_empty() { String::new() } else { format!(" {:?}", String::from_utf8_lossy(&self.debug)) };
        let failure = Failure::new(Outcome::Reset, format!("the server ended the HTTP/2 connection: GOAWAY {}{debug}", self.reason));
        // Go has no type of error for the streams of which a GOAWAY says that they were not handled.
        if self.last_stream == 0 { failure } else { failure.with(FailureDetail::Http2Goaway(self.reason.0)) }
    }

    /// What it means for the streams after the last one, and for those that have not begun.
    pub(super) fn unhandled(&self) -> BrokenStream {
        BrokenStream { failure: self.failure(), unprocessed: self.reason == Reason::NO_ERROR }
    }
}

/// Why no more bytes come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The server closed it.
    Closed,
    /// The socket or TLS failed.
    Broken(Failure),
    Violated(Reason),
    /// The server's first bytes are a response in HTTP/1.1.
    SpeaksHttp1,
    /// Nobody uses it any more.
    Unused,
}

impl From<Reason> for ConnectionEnd {
    fn from(reason: Reason) -> Self {
        Self::Violated(reason)
    }
}

impl ConnectionEnd {
    /// `goaway`: what the server announced before.
    pub(super) fn failure(&self, goaway: Option<&Goaway>, need: Http2Need) -> Failure {
        match (self, goaway) {
            (Self::SpeaksHttp1, _) => need.failure("the server speaks HTTP/1.1, not HTTP/2"),
            (Self::Violated(reason), _) => violation(*reason).with(FailureDetail::Http2Connection(reason.0)),
            (_, Some(goaway)) => goaway.failure(),
            (Self::Broken(failure), None) => failure.clone(),
            (Self::Closed | Self::Unused, None) => {
                Failure::new(Outcome::Reset, "the server closed the HTTP/2 connection before the response was complete")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_data_of_a_goaway_is_shown_and_cut() {
        let read = |debug: &[u8]| Goaway::read(&[&[0x80, 0, 0, 1, 0, 0, 0, 11], debug].concat()).unwrap();
        let calm = "the server ended the HTTP/2 connection: GOAWAY ENHANCE_YOUR_CALM (11)";
        assert_eq!(read(b"too_many_pings").failure().message, format!("{calm} \"too_many_pings\""));
        assert_eq!((read(b"").failure().message, read(b"").last_stream), (calm.to_owned(), 1));
        assert_eq!(read(&[b'x'; 1024]).debug.len(), DEBUG_BYTES_MAX);
        assert_eq!(Goaway::read(&[0; 7]), None);
    }
}
