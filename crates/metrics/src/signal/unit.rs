//! Units of signals, as written in run directories, exports and outputs.
//!
//! They are constants and not an enum: an exporter or a query may use any unit, and its string is kept. These are the units that
//! [`Signal::unit_shown`](crate::Signal::unit_shown) and our own observers know. Numbers are displayed with `unit_shown`.

/// A plain number: items, threads, a ratio.
pub const COUNT: &str = "1";
/// Seconds. A counter of seconds is shown as a share of one core, one lock or one disk.
pub const SECONDS: &str = "seconds";
pub const BYTES: &str = "bytes";
/// A gauge that already is a rate.
pub const PER_SECOND: &str = "per second";
/// Sessions of a database.
pub const SESSIONS: &str = "sessions";
/// Calls that the system makes.
pub const CALLS: &str = "calls";
