//! Errors that a server returns.

use crate::failure::Failure;

/// "transaction_rollback".
const ROLLED_BACK: &str = "40000";

/// Why a statement, or a connection, was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqlRefusal {
    /// SQLSTATE, such as `23505`.
    pub code: String,
    /// The code, the message, and further text of the server.
    pub text: String,
    /// The server closes the connection after it.
    pub(super) is_final: bool,
}

impl SqlRefusal {
    pub(super) fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), text: format!("{code}: {message}"), is_final: false }
    }

    /// Servers do not report an error when asked to commit a transaction that they have already rolled back.
    pub(super) fn rolled_back() -> Self {
        Self::new(ROLLED_BACK, "the transaction was rolled back because one of its statements had failed")
    }
}

/// Why the connection could not be opened.
pub(super) enum Unopened {
    Failed(Failure),
    Refused(SqlRefusal),
}

impl From<Failure> for Unopened {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
