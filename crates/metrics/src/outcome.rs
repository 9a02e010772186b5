//! How a request, group or iteration ended.

use serde::{Deserialize, Serialize};

/// How something measured ended. A failing target is an outcome, never an error of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// The target responded, and every expectation held.
    Passed,
    /// The target responded with a status that counts as failed (≥ 400 by default; `expect` may change it).
    Status,
    /// The target responded, but an `expect` other than the status did not hold.
    Expect,
    /// No response within its time limit. Censored: its time is a lower bound.
    Timeout,
    /// The name did not resolve.
    Dns,
    /// The target refused the connection.
    Refused,
    /// The connection was reset or closed before the response was complete.
    Reset,
    /// The server closed a WebSocket or an event stream while the user waited for a message.
    Closed,
    /// The connection failed for another reason (unreachable, …).
    Connect,
    /// A step on a WebSocket, stream, socket or transaction that had not opened, or had ended before. Nothing was sent, so it has no time.
    NotConnected,
    /// The TLS handshake failed, or the certificate was not trusted.
    Tls,
    /// The response violated the protocol or a limit of Loadstone (header size, body size).
    Protocol,
    /// The script threw, and no step had failed before.
    Script,
    /// A group or an iteration contained a failed step, such as a request.
    Step,
    /// The generator ran out of local ports. This affects the measurement and is not a failure of the target.
    PortsExhausted,
    /// The generator ran out of file descriptors. This affects the measurement and is not a failure of the target.
    DescriptorsExhausted,
    /// The generator refused to send the request, since its content or settings are invalid. It counts neither as a request nor as failed. The script
    /// receives an error.
    Unsendable,
    /// The end of the run interrupted it. Censored: its time is a lower bound, and it counts neither as passed nor as failed.
    Interrupted,
}

impl Outcome {
    pub const ALL: [Outcome; 18] = [
        Outcome::Passed,
        Outcome::Status,
        Outcome::Expect,
        Outcome::Timeout,
        Outcome::Dns,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::Closed,
        Outcome::Connect,
        Outcome::NotConnected,
        Outcome::Tls,
        Outcome::Protocol,
        Outcome::Script,
        Outcome::Step,
        Outcome::PortsExhausted,
        Outcome::DescriptorsExhausted,
        Outcome::Unsendable,
        Outcome::Interrupted,
    ];

    /// Whether it counts as failed. A request that the generator refused is neither: it says nothing about the target.
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Passed | Outcome::Unsendable | Outcome::Interrupted)
    }

    /// The generator lacked a resource, or refused the request. This says nothing about the target.
    pub fn is_by_generator(self) -> bool {
        matches!(self, Outcome::PortsExhausted | Outcome::DescriptorsExhausted | Outcome::Unsendable)
    }

    /// The request never left the generator. It has no time.
    pub fn is_unsent(self) -> bool {
        self.is_by_generator() || self == Outcome::NotConnected
    }

    /// The label for users: `timed out`, `connection refused`, …
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Status => "status",
            Outcome::Expect => "expectation failed",
            Outcome::Timeout => "timed out",
            Outcome::Dns => "name not resolved",
            Outcome::Refused => "connection refused",
            Outcome::Reset => "connection reset",
            Outcome::Closed => "closed by the server",
            Outcome::Connect => "connection failed",
            Outcome::NotConnected => "no open connection",
            Outcome::Tls => "TLS failed",
            Outcome::Protocol => "malformed response",
            Outcome::Script => "script error",
            Outcome::Step => "a step failed",
            Outcome::PortsExhausted => "generator out of ports",
            Outcome::DescriptorsExhausted => "generator out of descriptors",
            Outcome::Unsendable => "refused by the generator",
            Outcome::Interrupted => "interrupted",
        }
    }
}
