//! Durations, rates, shares, bytes and counts: one parser and one formatter for every crate.
//!
//! [`duration`] reads and writes what a test or a flag says; the functions here write numbers for people. The page follows
//! the same rules. Deliberately absent: types that wrap a number; units stand in names (`timeout_ns`).

pub mod duration;
mod format;

pub use format::{NONE, bytes, count, counted, memory, number, percentile, rate, seconds, seconds_or_none, share};
