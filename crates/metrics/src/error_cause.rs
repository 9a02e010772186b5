//! Causes of recorded errors that rules ask for. Rules never read the messages. Read [`ErrorCause`].

use serde::{Deserialize, Serialize};

/// The cause of an error, where a rule asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCause {
    /// The gRPC status RESOURCE_EXHAUSTED: a quota or a rate limit rejected the call, or its message was too large.
    ResourceExhausted,
    /// The script was interrupted because it did not yield. Meanwhile its worker did nothing else.
    Unyielding,
}

/// An error to record: its message and, where a rule asks for it, its cause.
#[derive(Debug, Clone, Copy)]
pub struct ErrorText<'m> {
    /// Without the parts that differ from case to case. It may contain text of the target.
    pub message: &'m str,
    pub cause: Option<ErrorCause>,
}

impl<'m> From<&'m str> for ErrorText<'m> {
    fn from(message: &'m str) -> Self {
        Self { message, cause: None }
    }
}

impl<'m> From<&'m String> for ErrorText<'m> {
    fn from(message: &'m String) -> Self {
        Self { message, cause: None }
    }
}
