//! 95 % intervals of percentiles and means.
//!
//! Response times of neighbouring requests depend on each other, because they share a queue. An interval that assumes independence ([`order`]) is then far
//! too narrow. [`batch`] derives the interval from how much parts of the run differ from each other.

mod batch;
#[cfg(test)]
pub(crate) mod coverage;
mod mean;
mod order;

pub(crate) use batch::{batches_of, cumulative};
pub(crate) use mean::mean_of_batches;

use loadstone_metrics::Histogram;

use super::tail_samples::{SAMPLES_BEYOND_MIN, samples_beyond};

/// Seconds that a run needs for its parts to be compared.
const SECONDS_MIN: usize = 10;

/// The samples of a run, prepared for intervals.
pub(crate) enum Intervals<'a> {
    Batches {
        batches: batch::Batches,
        count: u64,
    },
    /// A run too short for batches. Independence is assumed.
    Order(&'a Histogram),
}

impl<'a> Intervals<'a> {
    /// `seconds`: the times of one series second by second, each as one or more histograms. `merged`: all of them together.
    pub(crate) fn of(seconds: &[Vec<&Histogram>], merged: &'a Histogram) -> Self {
        if seconds.len() < SECONDS_MIN {
            return Intervals::Order(merged);
        }
        Intervals::Batches { batches: batch::Batches::of(seconds, merged), count: merged.count() }
    }

    /// Both ends of the 95 % interval of a quantile. Seconds. An end that the samples do not bound is `None`.
    pub(crate) fn at(&self, quantile: f64) -> (Option<f64>, Option<f64>) {
        match self {
            Intervals::Batches { batches, count } if samples_beyond(*count, quantile) >= SAMPLES_BEYOND_MIN => batches.interval(quantile),
            Intervals::Batches { .. } => (None, None),
            Intervals::Order(merged) => order::interval(merged, quantile),
        }
    }
}
