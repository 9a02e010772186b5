//! Doubt: by how much at most the generator can have moved a number. The rule is in docs/validity.md.
//!
//! A generator that is late adds to what it measures. How much is recorded beside the times: a request's schedule lag (its service time is
//! without it), and how long responses lay unread. [`SeriesDoubt`] gathers both for one series and bounds its times from below; [`DoubtTally`]
//! holds one for each series of a run. `shown` puts the bounds beside the numbers that a summary shows, `decided` holds thresholds against them.
//!
//! Deliberately absent: what a late generator does to the *target* by asking for less, or for more at once. Requests that started in a bunch are
//! taken to prove nothing, and the load that was made is held against the one asked for by `validity/offered_rate`.

mod decided;
mod ladder;
mod series;
mod shortfall;
mod shown;
mod stretch;
mod tally;

pub(crate) use decided::decided;
pub(crate) use series::SeriesDoubt;
pub(crate) use shown::{JudgedPercentile, judged_percentiles, put_into};
pub(crate) use stretch::{LateStretch, lateness_between};
pub(crate) use tally::DoubtTally;

/// Doubt below this part of a number is none.
pub(crate) const DOUBTFUL: f64 = 0.05;
/// Doubt beyond this part of a number leaves little of it.
pub(crate) const WORTHLESS: f64 = 0.25;
/// Doubt below this is none, whatever it is a part of. Seconds. A request costs its generator two wake-ups, one when it is due and one when its
/// response is there; on an idle virtual machine they take up to 0.3 ms together. No path through a network repeats better.
pub(crate) const PERCEPTIBLE: f64 = 0.000_5;

/// Whether a doubt matters to a number. Seconds.
pub(crate) fn matters(value: f64, doubt: f64) -> bool {
    doubt > PERCEPTIBLE && doubt > DOUBTFUL * value
}
