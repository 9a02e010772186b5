//! Uncertainty: the maximum by which the generator can have changed a number. docs/validity.md has the rule.
//!
//! A late generator adds time to its measurements. The record shows how much: the schedule lag of a request (its service time excludes it),
//! and how long responses waited to be read. [`SeriesUncertainty`] collects both for one series and computes lower bounds of its times.
//! [`UncertaintyTally`] has one for each series of a run. `shown` adds the uncertainty to the numbers of a summary, and `decided` compares
//! thresholds with the bounds.
//!
//! Deliberately absent: how a late generator affects the *target* by sending fewer requests, or more at once. Requests that started in a
//! bunch are excluded from the bounds, and `validity/offered_rate` compares the generated load with the requested load.

mod decided;
mod ladder;
mod series;
mod shortfall;
mod shown;
mod stretch;
mod tally;

pub(crate) use decided::decided;
pub(crate) use series::SeriesUncertainty;
pub(crate) use shown::{JudgedPercentile, judged_percentiles, mark_numbers};
pub(crate) use stretch::{LateStretch, lateness_between};
pub(crate) use tally::UncertaintyTally;

/// An uncertainty up to this share of a number is ignored.
pub(crate) const UNCERTAIN_SHARE_MIN: f64 = 0.05;
/// Above this share of a number, the uncertainty makes the number unusable.
pub const UNUSABLE_SHARE_MIN: f64 = 0.25;
/// An uncertainty up to this many seconds is ignored, regardless of its share. A request needs two wake-ups of the generator, one when it
/// is due and one when its response arrives. On an idle virtual machine both together take up to 0.3 ms. No network path has a better
/// repeatability.
pub(crate) const UNCERTAIN_SECONDS_MIN: f64 = 0.000_5;

/// Whether an uncertainty matters for a number. Both in seconds.
pub(crate) fn matters(value: f64, uncertainty: f64) -> bool {
    uncertainty > UNCERTAIN_SECONDS_MIN && uncertainty > UNCERTAIN_SHARE_MIN * value
}
