//! Why an operation failed: an outcome for counting, and a message for users.

use loadstone_metrics::Outcome;

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub outcome: Outcome,
    /// For users, without addresses and numbers that differ from case to case.
    pub message: String,
    pub detail: Option<FailureDetail>,
}

/// What an outcome does not distinguish, for callers that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureDetail {
    /// The name server states that the host does not exist.
    UnknownHost,
    /// A rule of the test blocks the host, or its address.
    BlockedHost,
    BlockedAddress,
    /// An address did not answer within its time limit, see `NetworkOptions::connect_timeout_ns`.
    ConnectTimeout,
    /// The system reported an error number without a separate detail: for a new connection, and for an open one.
    ConnectErrno,
    SocketErrno,
    ConnectionReset,
    BrokenPipe,
    /// The server's first bytes are not TLS.
    NotTls,
    /// The server ended TLS with an alert.
    TlsAlert,
    /// The certificate's issuer is not trusted, or the certificate is for another host.
    UnknownIssuer,
    OtherHostName,
    /// The body does not match its content coding.
    ContentCoding,
    /// Error codes of RFC 9113, section 7.
    Http2Goaway(u32),
    Http2Stream(u32),
    /// The server violated HTTP/2, so that its connection was closed.
    Http2Connection(u32),
}

impl Failure {
    pub fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, message: message.into(), detail: None }
    }

    pub(crate) fn with(self, detail: FailureDetail) -> Self {
        Self { detail: Some(detail), ..self }
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::new(Outcome::Protocol, message)
    }

    /// The generator refuses to send it. The message names the part that is invalid.
    pub(crate) fn unsendable(message: impl Into<String>) -> Self {
        Self::new(Outcome::Unsendable, message)
    }

    /// `doing` completes "timed out …", for example `waiting for the response`.
    pub(crate) fn timeout(doing: &str) -> Self {
        Self::new(Outcome::Timeout, format!("timed out {doing}"))
    }
}
