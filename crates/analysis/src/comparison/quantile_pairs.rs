//! The error of the ratio of a quantile, for two runs with the same changing load.
//!
//! A ratio θ belongs to the interval if both runs could have the same quantile after the baseline's times are multiplied by θ. The common
//! quantile is the value that a share 1 − q of both runs lies above, with half of the weight each. The test compares the difference between
//! the two runs' shares above this value with the error of such a difference. The error comes from parts of the runs that had the same
//! load: the load changes the share of a part's times above the quantile in both runs, and that is not random. So the interval of a
//! quantile is computed from an interval of shares (Woodruff, "Confidence intervals for medians and other position measures", JASA 1952;
//! Francisco and Fuller, "Quantile estimation with a complex survey design", Annals of Statistics 1991), and the shares are those of the
//! test of two samples' common quantile (Mood, *Introduction to the Theory of Statistics*, 1950, for the median). The method needs no
//! density, and no tail beyond the samples. If the error is larger than the maximum difference of the shares, the interval has no end.
//!
//! A variant that recomputed the error at every θ was rejected: away from the observed ratio the runs no longer have their loads in common,
//! and high percentiles of a ramp had no end.

use loadstone_metrics::Histogram;

use super::change::{ChangeErrors, SideError};
use super::pairs::{self, PARTS, PairSpread};
use crate::statistics::{cumulative, student_t};

/// First step away from the observed ratio, and the growth of each further step. Of logarithms.
const FIRST_STEP: f64 = 0.001;
const STEP_GROWTH: f64 = 1.15;
/// The search for an end stops at about a thousandfold.
const LOG_RATIO_MAX: f64 = 7.0;
/// Precision of an end.
const PRECISION: f64 = 1e-4;
/// Number of bisections until the value that a share lies above is found, from a range of any width.
const BISECTIONS: usize = 50;

/// The times of two runs, by second of the same load.
pub(super) struct QuantilePairs {
    baseline: SideTimes,
    candidate: SideTimes,
}

impl QuantilePairs {
    /// `None`: one of the two runs has no times, or the runs are too short.
    pub(super) fn of(baseline: &[Vec<&Histogram>], candidate: &[Vec<&Histogram>]) -> Option<Self> {
        let used = pairs::used(baseline.len(), |second| !baseline[second].is_empty() || !candidate[second].is_empty())?;
        Some(Self { baseline: SideTimes::of(&baseline[used.clone()])?, candidate: SideTimes::of(&candidate[used])? })
    }

    /// The error around the logarithm of the observed ratio.
    pub(super) fn errors(&self, quantile: f64, observed: f64) -> ChangeErrors {
        let deviations = |side: &SideTimes| side.deviations(side.at(quantile));
        let spread = PairSpread::of(&deviations(&self.baseline), &deviations(&self.candidate));
        let apart = student_t(spread.freedom()) * spread.error();
        let end = |way| self.distance(quantile, observed, way, apart).map(|distance| SideError::of(distance, spread.freedom()));
        ChangeErrors { below: end(-1.0), above: end(1.0) }
    }

    /// The distance from the observed ratio, in one direction, to the first ratio whose shares differ by more than `most`.
    fn distance(&self, quantile: f64, observed: f64, way: f64, most: f64) -> Option<f64> {
        let is_inside = |distance: f64| self.apart(quantile, observed + way * distance).abs() <= most;
        let (mut inside, mut step) = (0.0, FIRST_STEP);
        let mut outside = loop {
            let distance = inside + step;
            if distance > LOG_RATIO_MAX {
                return None;
            }
            if !is_inside(distance) {
                break distance;
            }
            (inside, step) = (distance, step * STEP_GROWTH);
        };
        while outside - inside > PRECISION {
            let middle = f64::midpoint(inside, outside);
            *(if is_inside(middle) { &mut inside } else { &mut outside }) = middle;
        }
        Some(outside)
    }

    /// The difference between the shares of the two runs above their common quantile, if the candidate's times are the baseline's times
    /// multiplied by the ratio.
    fn apart(&self, quantile: f64, log_ratio: f64) -> f64 {
        let shares = |value: f64| (self.baseline.share_above(value - log_ratio), self.candidate.share_above(value));
        let mut low = self.candidate.least().min(self.baseline.least() + log_ratio) - 1.0;
        let mut high = self.candidate.most().max(self.baseline.most() + log_ratio) + 1.0;
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            let (old, new) = shares(middle);
            *(if f64::midpoint(old, new) > 1.0 - quantile { &mut low } else { &mut high }) = middle;
        }
        let (old, new) = shares(high);
        new - old
    }
}

/// Cumulative counts of the parts of a run, at the values that occur in it.
struct SideTimes {
    /// Logarithms of the midpoints of the occupied buckets, ascending. Of nanoseconds.
    values: Vec<f64>,
    /// Per part: number of times at or below each value.
    cumulative: Vec<Vec<u64>>,
    /// Over all parts.
    total: Vec<u64>,
    count: f64,
}

impl SideTimes {
    fn of(seconds: &[Vec<&Histogram>]) -> Option<Self> {
        let count = seconds.len().min(PARTS);
        let (mut parts, mut all) = (vec![Histogram::new(); count], Histogram::new());
        for (index, second) in seconds.iter().enumerate() {
            second.iter().for_each(|times| parts[index * count / seconds.len()].merge(times));
        }
        parts.iter().for_each(|part| all.merge(part));
        let lows: Vec<u64> = all.bars().map(|(low, _, _)| low).collect();
        let values = all.bars().map(|(low, high, _)| (low.midpoint(high).max(1) as f64).ln()).collect();
        let cumulative = parts.iter().map(|part| cumulative(part, &lows)).collect();
        let total = lows.iter().map(|low| all.count_at_or_below(*low)).collect();
        (!all.is_empty()).then(|| Self { values, cumulative, total, count: all.count() as f64 })
    }

    fn least(&self) -> f64 {
        self.values[0]
    }

    fn most(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// The logarithm of a quantile, by the nearest rank.
    fn at(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.count).ceil() as u64;
        self.values[self.total.partition_point(|at_or_below| *at_or_below < rank).min(self.values.len() - 1)]
    }

    fn share_above(&self, log_value: f64) -> f64 {
        1.0 - at_or_below(&self.total, self.values.partition_point(|value| *value <= log_value)) / self.count
    }

    /// For each part, how many more times lie above a value than the whole run predicts, as shares of all times.
    fn deviations(&self, log_value: f64) -> Vec<f64> {
        let (index, share) = (self.values.partition_point(|value| *value <= log_value), self.share_above(log_value));
        let deviation = |part: &Vec<u64>| {
            let count = at_or_below(part, part.len());
            (count - at_or_below(part, index) - share * count) / self.count
        };
        self.cumulative.iter().map(deviation).collect()
    }
}

/// The count at or below the first `values` values.
fn at_or_below(cumulative: &[u64], values: usize) -> f64 {
    values.checked_sub(1).map_or(0.0, |last| cumulative[last] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute of 100 requests per second whose times double with the load. `seed` changes the order within each second.
    fn minute(factor: f64, seed: u64) -> Vec<Histogram> {
        let second = |second: u64| {
            let mut times = Histogram::new();
            for request in 0..100 {
                let spread = (request * 37 + second * seed * 13) % 97 + seed * (second % 3);
                times.record(((20_000 + spread * 100) as f64 * 1_000.0 * factor * (1.0 + second as f64 / 60.0)) as u64);
            }
            times
        };
        (0..60).map(second).collect()
    }

    fn errors(baseline: &[Histogram], candidate: &[Histogram], quantile: f64, observed: f64) -> ChangeErrors {
        let lists = |side| -> Vec<Vec<&Histogram>> { <[Histogram]>::iter(side).map(|second| vec![second]).collect() };
        QuantilePairs::of(&lists(baseline), &lists(candidate)).unwrap().errors(quantile, observed)
    }

    #[test]
    fn two_equal_ramps_leave_no_uncertainty() {
        let (a, slower) = (minute(1.0, 1), minute(1.2, 1));
        for quantile in [0.1, 0.5, 0.9] {
            let found = errors(&a, &slower, quantile, 1.2_f64.ln());
            // Within a few buckets of the histogram, each 0.4 % wide.
            let narrow = ChangeErrors::even(0.008, 59.0);
            assert_eq!(found.or_wider(narrow), narrow, "{quantile}: {found:?}");
        }
    }

    #[test]
    fn swapping_the_sides_swaps_the_errors() {
        let (a, b) = (minute(1.0, 1), minute(1.1, 2));
        let (forward, reverse) = (errors(&a, &b, 0.5, 0.095), errors(&b, &a, 0.5, -0.095));
        let near = |a: Option<SideError>, b: Option<SideError>| (a.unwrap().half() - b.unwrap().half()).abs() < 2.0 * PRECISION + 0.004;
        assert!(near(forward.below, reverse.above) && near(forward.above, reverse.below), "{forward:?}, {reverse:?}");
    }
}
