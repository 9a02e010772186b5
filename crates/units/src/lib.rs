//! Durations, rates, shares, bytes and counts: one parser and one formatter for every crate, and suggestions for misspelt names.
//!
//! Parsing: [`duration::parse`], [`rate::parse`], [`share::parse`] and [`size::parse`] accept strings from tests, flags and descriptions, and return
//! a [`UnitError`] for invalid ones. Formatting: the functions here format numbers for people; [`duration::format`] writes strings that
//! [`duration::parse`] accepts. The page follows the same rules (`web/src/format/number.ts`), and `cases.json` tests both. [`text`]
//! bounds and cleans strings from other programs; [`source`] limits the nesting of their code. Deliberately absent: types that wrap a number (names
//! carry the unit: `timeout_ns`), and locales.

pub mod duration;
mod error;
mod format;
mod nearest;
pub mod rate;
pub mod share;
pub mod size;
pub mod source;
pub mod text;

pub use error::UnitError;
pub use format::{
    FACTOR_MIN, NONE, bytes, change, count, counted, digits_of, factor, in_unit, memory, number, percentile, rate, seconds,
    seconds_or_none, seconds_to, share, share_to, signed_share,
};
pub use nearest::{did_you_mean, nearest};
