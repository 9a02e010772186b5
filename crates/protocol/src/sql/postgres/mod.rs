//! PostgreSQL: its frontend/backend protocol, version 3.0.
//!
//! Read `session` first (one statement, prepared once), then `scan` (where an answer ends) and `rows`. `opening` begins a connection, `wire` knows the
//! bytes. What is sent is written by `postgres_protocol`.

mod opening;
pub(super) mod rows;
mod scan;
mod session;
mod wire;

pub(super) use opening::open;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use scan::AnswerScan;
pub(super) use session::PostgresSession;
