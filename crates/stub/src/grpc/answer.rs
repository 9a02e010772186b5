//! The answers of a method, as values.

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

/// Messages, followed by a status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrpcAnswer {
    /// Encoded.
    pub messages: Vec<Bytes>,
    /// Pause between messages. Nanoseconds.
    pub pause_ns: u64,
    /// Code; 0 is OK.
    pub status: u16,
    pub details: String,
    /// Trailing metadata. Values of names that end in `-bin` are base64.
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

/// The answers of a method, and when it sends them.
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
    /// Once, when all messages of the call have arrived.
    #[default]
    AtEnd,
    /// Each message as it arrives, in order. A status that is not OK ends the call. Limits, faults and the recording count each message as
    /// a request.
    EachMessage,
    /// The same, but the call remains open after its caller has sent the last message, until the caller leaves.
    Watch,
}

/// Produces an answer from messages.
pub type GrpcFunction = Box<dyn Fn(&[Bytes]) -> GrpcAnswer + Send>;

/// The source of an answer.
pub enum GrpcSource {
    Fixed(GrpcAnswer),
    /// Receives the messages of the call, or the single message to answer. Runs on the server's thread and must not block.
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
