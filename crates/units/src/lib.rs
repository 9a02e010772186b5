//! Durations, rates, shares, bytes and counts: one parser and one formatter for every crate; and the name that a misspelt one stands for.
//!
//! Read: [`duration::parse`], [`rate::parse`], [`share::parse`] and [`size::parse`] take what a test, a flag or a description says, and refuse with a
//! [`UnitError`]. Write: the functions here give numbers to people; [`duration::format`] writes what [`duration::parse`] reads. The page
//! follows the same rules (`web/src/format/number.ts`), and `cases.json` holds both to them. Deliberately absent: types that wrap a
//! number (units stand in names, `timeout_ns`), and locales.

pub mod duration;
mod error;
mod format;
mod nearest;
pub mod rate;
pub mod share;
pub mod size;

pub use error::UnitError;
pub use format::{
    NONE, bytes, count, counted, digits_of, in_unit, memory, number, percentile, rate, seconds, seconds_or_none, seconds_to, share,
    share_to,
};
pub use nearest::{did_you_mean, nearest};
