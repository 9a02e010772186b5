//! What a server says when it does not do what it was asked.

use crate::failure::Failure;

/// "transaction_rollback".
const ROLLED_BACK: &str = "40000";

/// Why a statement, or a connection, was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqlRefusal {
    /// SQLSTATE, such as `23505`.
    pub code: String,
    /// The code, the message, and what else the server said.
    pub text: String,
    /// The connection ends with it.
    pub(super) is_final: bool,
}

impl SqlRefusal {
    pub(super) fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), text: format!("{code}: {message}"), is_final: false }
    }

    /// Servers do not call it an error to be asked to keep what they have undone already.
    pub(super) fn rolled_back() -> Self {
        Self::new(ROLLED_BACK, "the transaction was rolled back, since a statement of it had failed")
    }
}

/// Why there is no connection.
pub(super) enum Unopened {
    Failed(Failure),
    Refused(SqlRefusal),
}

impl From<Failure> for Unopened {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
