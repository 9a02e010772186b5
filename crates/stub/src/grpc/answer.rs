//! What a method answers, as values.

use bytes::Bytes;

/// The statuses by code (grpc/grpc, doc/statuscodes.md).
pub const GRPC_STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

pub(crate) const GRPC_STATUS_MAX: u16 = GRPC_STATUSES.len() as u16 - 1;

pub(crate) const RESOURCE_EXHAUSTED: u16 = 8;
pub(crate) const UNIMPLEMENTED: u16 = 12;
pub(crate) const INTERNAL: u16 = 13;
pub(crate) const UNAVAILABLE: u16 = 14;

/// Messages, and a status behind them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrpcAnswer {
    /// Encoded.
    pub messages: Vec<Bytes>,
    /// Between one message and the next. Nanoseconds.
    pub pause_ns: u64,
    /// Code; 0 is OK.
    pub status: u16,
    pub details: String,
    /// Behind the messages; the values of names in `-bin` as base64.
    pub trailers: Vec<(String, String)>,
}

impl GrpcAnswer {
    /// One message, and OK.
    pub fn message(message: impl Into<Bytes>) -> Self {
        Self { messages: vec![message.into()], ..Self::default() }
    }

    /// A status without a message.
    pub fn status(status: u16, details: impl Into<String>) -> Self {
        Self { status, details: details.into(), ..Self::default() }
    }
}

/// What a method answers with, and how often.
#[derive(Debug)]
pub struct GrpcContent {
    pub source: GrpcSource,
    pub turns: GrpcTurns,
}

impl GrpcContent {
    pub fn fixed(answer: GrpcAnswer) -> Self {
        Self { source: GrpcSource::Fixed(answer), turns: GrpcTurns::AtEnd }
    }
}

/// When a method answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrpcTurns {
    /// Once, when all messages of the call are there.
    #[default]
    AtEnd,
    /// Each message as it comes, in their order; a status that is not OK ends the call. Each is a request of its own to limits, faults and the
    /// recording.
    EachMessage,
    /// The same; but the call stays open when its caller has sent its last message, until the caller leaves.
    Watch,
}

/// Makes an answer of messages.
pub type GrpcFunction = Box<dyn Fn(&[Bytes]) -> GrpcAnswer + Send>;

/// Where an answer comes from.
pub enum GrpcSource {
    Fixed(GrpcAnswer),
    /// Is given the messages of the call, or the one that is to be answered. Runs on the server's thread and must not block.
    Function(GrpcFunction),
}

impl GrpcSource {
    pub(crate) fn reads_request(&self) -> bool {
        matches!(self, GrpcSource::Function(_))
    }

    pub(super) fn answer(&self, messages: &[Bytes]) -> GrpcAnswer {
        match self {
            GrpcSource::Fixed(answer) => answer.clone(),
            GrpcSource::Function(function) => function(messages),
        }
    }
}

impl std::fmt::Debug for GrpcSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GrpcSource::Fixed(answer) => f.debug_tuple("Fixed").field(answer).finish(),
            GrpcSource::Function(_) => f.write_str("Function(…)"),
        }
    }
}
