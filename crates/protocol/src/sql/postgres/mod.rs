//! PostgreSQL: its frontend/backend protocol, version 3.0.
//!
//! Read `session` first (one statement, prepared once), then `scan` (finds the end of an answer) and `rows`. `opening` begins a connection, `wire`
//! parses messages. `postgres_protocol` encodes outgoing messages.

mod opening;
pub(super) mod rows;
mod scan;
mod session;
mod wire;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use opening::fuzzing::login;
pub(super) use opening::open;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use scan::AnswerScan;
pub(super) use session::PostgresSession;
