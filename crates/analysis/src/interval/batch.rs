//! The interval for dependent samples: batch means of tail counts.
//!
//! The run is cut into twenty batches of consecutive seconds, long enough to be nearly independent of each other. A value *v* belongs to the
//! interval of quantile *q* when the share of samples above *v* could be 1 − q, judged by how much that share differs between batches:
//! |ln(tail(v) / (1 − q))| ≤ t · se(v) / tail(v). Two corrections make it cover where tails come in few, large episodes, as in a queue:
//! the degrees of freedom of *t* follow from the kurtosis of the batches (Satterthwaite's idea: a variance that rests on few batches is itself
//! uncertain), and the variance grows by 1 + 2r where neighbouring batches still correlate by r.
//!
//! A moving-block bootstrap was tried first: on M/M/1 at ρ = 0.8 its nominal 95 % interval of p99 covered the truth in only 78–85 % of runs
//! of one to two minutes. The coverage of this one is tested in `tests/it/coverage.rs`.

use metrics::Histogram;

/// Consecutive parts into which a run is cut.
const BATCHES: usize = 20;

/// Cumulative counts of each batch on the values that occur.
pub(crate) struct Batches {
    /// Midpoints of the occupied buckets, ascending. Nanoseconds.
    values: Vec<u64>,
    /// Per batch: samples at or below each value.
    cumulative: Vec<Vec<u64>>,
    /// Over all batches.
    total: Vec<u64>,
}

impl Batches {
    /// Cuts the seconds, each a set of histograms, into batches.
    pub(crate) fn of(seconds: &[Vec<&Histogram>], merged: &Histogram) -> Self {
        let count = BATCHES.min(seconds.len());
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
        let centre = self.total.partition_point(|at_or_below| *at_or_below < rank);
        let last = self.values.len() - 1;
        let low = (0..centre.min(last)).rev().find(|index| !self.is_compatible(*index, quantile, all)).map_or(0, |index| index + 1);
        let high = (centre.min(last)..=last).find(|index| !self.is_compatible(*index, quantile, all));
        // The largest value has nothing above it and is never compatible; reaching it means that the samples end first.
        let high = high.filter(|index| *index < last).map(|index| index.max(1));
        (Some(self.values[low] as f64 / 1e9), high.map(|index| self.values[index] as f64 / 1e9))
    }

    fn is_compatible(&self, index: usize, quantile: f64, all: u64) -> bool {
        let tail = 1.0 - self.total[index] as f64 / all as f64;
        if tail <= 0.0 {
            return false;
        }
        let m = self.cumulative.len() as f64;
        let deviations: Vec<f64> = self
            .cumulative
            .iter()
            .map(|batch| {
                let samples = batch.last().copied().unwrap_or(0) as f64;
                (samples - batch[index] as f64) - tail * samples
            })
            .collect();
        let squares: f64 = deviations.iter().map(|d| d * d).sum();
        if squares <= 0.0 {
            return tail == 1.0 - quantile;
        }
        let kurtosis = m * deviations.iter().map(|d| d.powi(4)).sum::<f64>() / (squares * squares);
        let neighbours: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares + 1.0 / m;
        let inflation = (1.0 + 2.0 * neighbours).clamp(1.0, 3.0);
        let error = (squares * inflation / (m * (m - 1.0))).sqrt() / (all as f64 / m);
        let freedom = (2.0 * m / (kurtosis * (m + 1.0) / (m - 1.0) - 1.0).max(1e-9) - 2.0).clamp(1.5, m - 1.0);
        (tail / (1.0 - quantile)).ln().abs() <= student_t(freedom) * error / tail
    }
}

/// Counts at or below each of the buckets that begin at `lows`.
fn cumulative(batch: &Histogram, lows: &[u64]) -> Vec<u64> {
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

/// The 97.5 % point of Student's t, interpolated in 1/ν between tabulated values.
pub(super) fn student_t(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 13] = [
        (1.0, 12.706),
        (1.5, 6.3),
        (2.0, 4.303),
        (2.5, 3.56),
        (3.0, 3.182),
        (4.0, 2.776),
        (5.0, 2.571),
        (6.0, 2.447),
        (8.0, 2.306),
        (10.0, 2.228),
        (15.0, 2.131),
        (20.0, 2.086),
        (30.0, 2.042),
    ];
    TABLE.windows(2).find(|pair| freedom <= pair[1].0).map_or(2.042, |pair| {
        let [(low, t_low), (high, t_high)] = [pair[0], pair[1]];
        let part = (1.0 / low - 1.0 / freedom.max(low)) / (1.0 / low - 1.0 / high);
        t_low + (t_high - t_low) * part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_meets_the_table_and_lies_between() {
        for (freedom, t) in [(1.0, 12.706), (3.0, 3.182), (20.0, 2.086), (7.0, 2.365), (12.0, 2.179), (25.0, 2.060)] {
            assert!((student_t(freedom) - t).abs() < 0.01, "{freedom}: {}", student_t(freedom));
        }
    }

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
