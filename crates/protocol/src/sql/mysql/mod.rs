//! MySQL and MariaDB: their client/server protocol, version 10.
//!
//! Read `session` first (one statement; those with values are prepared once), then `scan` (where an answer ends) and `rows`. `opening` begins a
//! connection with a `greeting` and a `proof` of who we are; `execute` writes values, `wire` knows packets. Deliberately absent: several statements in one
//! text, `LOAD DATA LOCAL`, compression, rows of 16 MiB and more.

mod execute;
mod greeting;
mod opening;
mod proof;
pub(super) mod rows;
mod scan;
mod session;
mod wire;

pub(super) use opening::open;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) use scan::ResultScan;
pub(super) use session::MySqlSession;
