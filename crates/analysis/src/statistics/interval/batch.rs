//! The interval for dependent samples: batch means of tail counts.
//!
//! The run is cut into batches of consecutive seconds, twenty of them, and up to fifty of a run longer than two minutes. A value *v* belongs to the interval of
//! quantile *q* where the share of samples above *v* may be 1 − q. How much that share differs between batches decides it: |ln(tail(v) / (1 − q))| ≤ t · se(v)
//! / tail(v). Two corrections keep the coverage where tails come in few, large episodes, as in a queue. The degrees of freedom of *t* follow from the kurtosis
//! of the batches (Satterthwaite's idea: a variance that rests on few batches is itself uncertain). The variance grows as that of an autoregressive series
//! where a batch resembles the one before it.
//!
//! The samples may end before the upper end of a high percentile. Above the value that 80 independent samples' worth lie beyond, an exponential tail continues
//! them, whose rate is the mean excess (`TailModel`). Waiting times have this tail in the limit (Abate, Choudhury and Whitt, "Exponential approximations for
//! tail probabilities in queues", 1995). The same batches show how certain the share above that value and the rate are.
//!
//! A moving-block bootstrap was tried first. On M/M/1 at ρ = 0.8, its nominal 95 % interval of p99 covered the truth in only 78–85 % of runs of one to two
//! minutes. `coverage` measures the coverage of this interval.

use loadstone_metrics::Histogram;

use crate::statistics::{freedom_by_kurtosis, student_t};

/// Batches of a run of up to two minutes, and at most. The more batches, the more certain is how much they differ.
const BATCHES: usize = 20;
const BATCHES_MAX: usize = 50;
/// Seconds in each of more than [`BATCHES`].
const BATCH_SECONDS: usize = 6;
/// Factor by which correlated batches widen the variance at most.
const INFLATION_MAX: f64 = 10.0;
/// A correlation that is estimated from m batches is too low by (1 + 4ρ)/m (Marriott and Pope, "Bias in the estimation of autocorrelations", 1954). The true ρ
/// is unknown; this is the bias at ρ = 0.5.
const CORRELATION_BIAS: f64 = 3.0;
/// Independent samples' worth beyond a value up to which the samples themselves describe the tail.
const EFFECTIVE_SAMPLES_BEYOND: f64 = 80.0;
/// Share of the samples that never counts as the tail.
const BODY_SHARE: f64 = 0.3;
/// Mean excesses above the begin of the tail up to which an upper end is searched.
const EXCESSES_MAX: f64 = 20.0;

/// How many batches a run of this many seconds has.
pub(crate) fn batches_of(seconds: usize) -> usize {
    (seconds / BATCH_SECONDS).clamp(BATCHES, BATCHES_MAX).min(seconds)
}

/// Cumulative counts of each batch, on the values that occur.
pub(crate) struct Batches {
    /// Midpoints of the occupied buckets, ascending. Nanoseconds.
    values: Vec<u64>,
    /// For each batch, the samples at or below each value.
    cumulative: Vec<Vec<u64>>,
    /// The same over all batches.
    total: Vec<u64>,
}

impl Batches {
    /// Cuts the seconds, each a set of histograms, into batches.
    pub(crate) fn of(seconds: &[Vec<&Histogram>], merged: &Histogram) -> Self {
        let count = batches_of(seconds.len());
        let mut batches = vec![Histogram::new(); count];
        for (index, second) in seconds.iter().enumerate() {
            second.iter().for_each(|histogram| batches[index * count / seconds.len()].merge(histogram));
        }
        let lows: Vec<u64> = merged.bars().map(|(low, _, _)| low).collect();
        let values = merged.bars().map(|(low, high, _)| (low + (high - low) / 2).clamp(merged.min(), merged.max())).collect();
        let cumulative: Vec<Vec<u64>> = batches.iter().map(|batch| cumulative(batch, &lows)).collect();
        let total = (0..lows.len()).map(|index| cumulative.iter().map(|batch| batch[index]).sum()).collect();
        Self { values, cumulative, total }
    }

    /// Seconds. An end that the samples do not bound is `None`.
    pub(crate) fn interval(&self, quantile: f64) -> (Option<f64>, Option<f64>) {
        let Some(all) = self.total.last().copied().filter(|all| *all > 0) else { return (None, None) };
        let rank = (quantile * all as f64).ceil() as u64;
        let last = self.values.len() - 1;
        let centre = self.total.partition_point(|at_or_below| *at_or_below < rank).min(last);
        let low = (0..centre).rev().find(|index| !self.is_compatible(*index, quantile, all)).map_or(0, |index| index + 1);
        let begin = self.tail_begin(all);
        let counted = (centre..begin).find(|index| !self.is_compatible(*index, quantile, all));
        let high = match counted {
            Some(index) => Some(self.values[index.max(1)] as f64),
            None => TailModel::of(self, begin, all).and_then(|tail| tail.upper_end(quantile, self.values[centre] as f64)),
        };
        (Some(self.values[low] as f64 / 1e9), high.map(|high| high / 1e9))
    }

    fn is_compatible(&self, index: usize, quantile: f64, all: u64) -> bool {
        let tail = self.tail(index, all);
        if tail <= 0.0 {
            return false;
        }
        let spread = self.spread(index, all);
        if spread.squares <= 0.0 {
            return tail == 1.0 - quantile;
        }
        (tail / (1.0 - quantile)).ln().abs() <= spread.half_width() / (tail * all as f64)
    }

    /// The highest value beyond which [`EFFECTIVE_SAMPLES_BEYOND`] independent samples' worth lie (Kish, *Survey Sampling*, 1965: n over the design effect).
    fn tail_begin(&self, all: u64) -> usize {
        let last = self.values.len() - 1;
        let body = self.total.partition_point(|at_or_below| (*at_or_below as f64) < BODY_SHARE * all as f64).min(last);
        let mut beyond = EFFECTIVE_SAMPLES_BEYOND;
        while beyond < all as f64 {
            let index = self.total.partition_point(|at_or_below| *at_or_below as f64 <= all as f64 - beyond).min(last);
            if index <= body {
                break;
            }
            let above = self.tail(index, all) * all as f64;
            if (above / self.spread(index, all).error()).powi(2) >= EFFECTIVE_SAMPLES_BEYOND {
                return index;
            }
            beyond *= 1.1;
        }
        body
    }

    /// The share of samples above a value.
    fn tail(&self, index: usize, all: u64) -> f64 {
        1.0 - self.total[index] as f64 / all as f64
    }

    fn spread(&self, index: usize, all: u64) -> BatchSpread {
        let tail = self.tail(index, all);
        let deviation = |batch: &Vec<u64>| {
            let samples = batch.last().copied().unwrap_or(0) as f64;
            (samples - batch[index] as f64) - tail * samples
        };
        BatchSpread::of(self.cumulative.iter().map(deviation).collect())
    }
}

/// How much a sum differs between batches.
struct BatchSpread {
    /// Of each batch from its part of the whole run's sum.
    deviations: Vec<f64>,
    squares: f64,
}

impl BatchSpread {
    fn of(deviations: Vec<f64>) -> Self {
        Self { squares: deviations.iter().map(|d| d * d).sum(), deviations }
    }

    fn batches(&self) -> f64 {
        self.deviations.len() as f64
    }

    /// The standard error of the sum over all batches, with the correlation of neighbouring batches.
    fn error(&self) -> f64 {
        let m = self.batches();
        if self.squares <= 0.0 || m < 2.0 {
            return 0.0;
        }
        let products: f64 = self.deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = (products / self.squares + CORRELATION_BIAS / m).clamp(0.0, 0.9);
        let inflation = ((1.0 + correlation) / (1.0 - correlation)).min(INFLATION_MAX);
        (self.squares * inflation * m / (m - 1.0)).sqrt()
    }

    /// Half of the 95 % interval of the sum.
    fn half_width(&self) -> f64 {
        if self.squares <= 0.0 { 0.0 } else { student_t(freedom_by_kurtosis(&self.deviations)) * self.error() }
    }
}

/// The tail above a value, exponential: ln tail(v) = ln tail(u) − (v − u)/excess.
struct TailModel {
    /// Nanoseconds.
    begin: f64,
    /// Nanoseconds.
    mean_excess: f64,
    ln_tail: f64,
    /// For each batch, how much ln tail(u) and ln excess would change if the whole run were like it.
    deviations: Vec<(f64, f64)>,
}

impl TailModel {
    /// `None`: nothing lies above the value.
    fn of(batches: &Batches, begin: usize, all: u64) -> Option<Self> {
        let tail = batches.tail(begin, all);
        let above = tail * all as f64;
        let low = batches.values[begin];
        let excess_of = |cumulative: &[u64]| -> f64 {
            let counts = cumulative[begin..].windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            counts.zip(&batches.values[begin + 1..]).map(|(count, value)| count * (value - low) as f64).sum()
        };
        let mean_excess = excess_of(&batches.total) / above;
        if above <= 0.0 || mean_excess <= 0.0 {
            return None;
        }
        let deviation = |batch: &Vec<u64>| {
            let samples = batch.last().copied().unwrap_or(0) as f64;
            let over = samples - batch[begin] as f64;
            ((over - tail * samples) / above, (excess_of(batch) - mean_excess * over) / (mean_excess * above))
        };
        let deviations = batches.cumulative.iter().map(deviation).collect();
        Some(Self { begin: low as f64, mean_excess, ln_tail: tail.ln(), deviations })
    }

    /// The first value above `centre` beyond which significantly less than 1 − q of the samples lie. Nanoseconds.
    fn upper_end(&self, quantile: f64, centre: f64) -> Option<f64> {
        let mut excesses = 0.0;
        while excesses < EXCESSES_MAX {
            let value = self.begin + excesses * self.mean_excess;
            let spread = BatchSpread::of(self.deviations.iter().map(|(share, excess)| share + excesses * excess).collect());
            if value > centre && (1.0 - quantile).ln() - (self.ln_tail - excesses) > spread.half_width() {
                return Some(value);
            }
            excesses += 0.01 + 0.02 * excesses;
        }
        None
    }
}

/// Counts in the buckets up to each of those that begin at `lows`.
pub(crate) fn cumulative(batch: &Histogram, lows: &[u64]) -> Vec<u64> {
    let mut bars = batch.bars().peekable();
    let mut seen = 0;
    lows.iter()
        .map(|low| {
            while let Some((_, _, count)) = bars.next_if(|bar| bar.0 <= *low) {
                seen += count;
            }
            seen
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_batches_give_a_narrow_interval_and_unequal_ones_a_wide_one() {
        let second = |shift: u64| {
            let mut histogram = Histogram::new();
            (0..1000u64).for_each(|n| histogram.record(1_000_000 + n * 10_000 + shift));
            histogram
        };
        let width = |shifts: [u64; 2]| {
            let seconds: Vec<Histogram> = (0..40).map(|n| second(shifts[(n / 2) % 2])).collect();
            let mut merged = Histogram::new();
            seconds.iter().for_each(|histogram| merged.merge(histogram));
            let lists: Vec<Vec<&Histogram>> = seconds.iter().map(|histogram| vec![histogram]).collect();
            let (low, high) = Batches::of(&lists, &merged).interval(0.9);
            high.unwrap() - low.unwrap()
        };
        assert!(width([0, 0]) < 0.000_1);
        assert!(width([0, 3_000_000]) > 0.001);
    }
}
