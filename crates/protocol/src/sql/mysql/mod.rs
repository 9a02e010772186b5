//! MySQL and MariaDB: their client/server protocol, version 10.
//!
//! Read `session` first (one statement; a statement with values is prepared once), then `scan` (finds the end of an answer) and `rows`. `opening`
//! begins a connection with a `greeting` and a `proof` of the password. `execute` encodes values, `wire` handles packets. Deliberately absent:
//! several statements in one string, `LOAD DATA LOCAL`, compression, rows of 16 MiB and more.

mod execute;
mod greeting;
mod opening;
mod proof;
pub(super) mod rows;
mod scan;
mod session;
mod wire;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use opening::fuzzing::login;
pub(super) use opening::open;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use scan::ResultScan;
pub(super) use session::MySqlSession;
