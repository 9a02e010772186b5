//! 95 % intervals of percentiles.
//!
//! Response times of neighbouring requests depend on each other, because they share a queue. An interval that assumes
//! independence ([`order`]) is far too narrow then; [`batch`] is made from how much parts of the run differ from each other.

mod batch;
#[cfg(test)]
pub(crate) mod coverage;
mod mean;
mod order;
mod student;

pub(crate) use batch::{batches_of, cumulative, student_t};
pub(crate) use mean::mean_of_batches;
pub(crate) use student::two_sided as t_two_sided;

use loadstone_metrics::Histogram;

use crate::percentile::{SAMPLES_BEYOND_MIN, samples_beyond};

/// Seconds below which the parts of a run are too few to compare.
const SECONDS_MIN: usize = 10;

/// What an interval is made from.
pub(crate) enum Intervals<'a> {
    Batches {
        batches: batch::Batches,
        count: u64,
    },
    /// A run too short for batches: independence is assumed.
    Order(&'a Histogram),
}

impl<'a> Intervals<'a> {
    /// `seconds`: the times of one series second by second; a second may be spread over several histograms, which all
    /// together are `merged`.
    pub(crate) fn of(seconds: &[Vec<&Histogram>], merged: &'a Histogram) -> Self {
        if seconds.len() < SECONDS_MIN {
            return Intervals::Order(merged);
        }
        Intervals::Batches { batches: batch::Batches::of(seconds, merged), count: merged.count() }
    }

    /// Both ends of the 95 % interval of a quantile, in seconds; an end that the samples do not carry is `None`.
    pub(crate) fn at(&self, quantile: f64) -> (Option<f64>, Option<f64>) {
        match self {
            Intervals::Batches { batches, count } if samples_beyond(*count, quantile) >= SAMPLES_BEYOND_MIN => batches.interval(quantile),
            Intervals::Batches { .. } => (None, None),
            Intervals::Order(merged) => order::interval(merged, quantile),
        }
    }
}
