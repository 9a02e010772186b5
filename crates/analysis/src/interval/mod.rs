//! 95 % intervals of percentiles.
//!
//! Response times of neighbouring requests depend on each other, because they share a queue. An interval that assumes
//! independence ([`order`]) is far too narrow then; [`batch`] is made from how much parts of the run differ from each other.

mod batch;
#[cfg(test)]
mod coverage;
mod mean;
mod order;

pub(crate) use mean::mean_of_batches;

use metrics::Histogram;

use crate::percentile::{SAMPLES_BEYOND_MIN, samples_beyond};

/// Seconds below which the parts of a run are too few to compare.
const SECONDS_MIN: usize = 10;

/// Independent samples' worth that must lie beyond a percentile before its interval has an upper end. From the simulation in `coverage`: with ten, p90
/// and p99 of short runs near saturation were held in 91 to 93 % of them.
const EFFECTIVE_BEYOND_MIN: f64 = 15.0;

/// What an interval is made from.
pub(crate) enum Intervals<'a> {
    Batches {
        batches: batch::Batches,
        count: u64,
        effective: f64,
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
        let batches = batch::Batches::of(seconds, merged);
        Intervals::Batches { effective: batches.effective_samples(), batches, count: merged.count() }
    }

    /// Both ends of the 95 % interval of a quantile, in seconds; an end that the samples do not carry is `None`.
    pub(crate) fn at(&self, quantile: f64) -> (Option<f64>, Option<f64>) {
        match self {
            Intervals::Batches { batches, count, effective } if samples_beyond(*count, quantile) >= SAMPLES_BEYOND_MIN => {
                let (low, high) = batches.interval(quantile);
                // A queue's slowest moments come in a few episodes. Where the run is too short to hold enough of them, the worst may not have come yet.
                (low, high.filter(|_| effective * (1.0 - quantile) >= EFFECTIVE_BEYOND_MIN))
            }
            Intervals::Batches { .. } => (None, None),
            Intervals::Order(merged) => order::interval(merged, quantile),
        }
    }
}
