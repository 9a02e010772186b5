//! Units of signals, as they stand in run directories, exports and outputs.
//!
//! Constants and not an enum: an exporter or a query may count in anything, and its word for it is kept. Those here are the ones that
//! [`Signal::unit_shown`](crate::Signal::unit_shown) and our own observers know. What is drawn beside a number is `unit_shown`.

/// A plain number: items, threads, a ratio.
pub const COUNT: &str = "1";
/// A counter of seconds is shown as a share of one core, one lock, one disk.
pub const SECONDS: &str = "seconds";
pub const BYTES: &str = "bytes";
/// A gauge that is a rate already.
pub const PER_SECOND: &str = "per second";
/// Sessions of a database.
pub const SESSIONS: &str = "sessions";
/// Calls that the system makes.
pub const CALLS: &str = "calls";
