//! Large changes that the error of *how much* hides.
//!
//! The interval of a ratio becomes wide where the candidate varies much, as it does when the system is overloaded. Whether the numbers
//! changed at all is then still certain: every part of one run exceeds every part of the other. The test compares the parts' ranks, which
//! need no variance. It is used for large changes only, since intervals detect small changes better.

use loadstone_metrics::Histogram;

use super::change::Estimate;
use super::model::{ComparedMetric, ComparedRow, PERCENTILES};
use crate::statistics::rank_sum_p;

/// Parts of a run. Their number is small, so that neighbours are nearly independent.
const PARTS: usize = 10;
/// Smallest ratio, in either direction, for which the test is used.
const RATIO_MIN: f64 = 2.0;
/// With a higher correlation of neighbouring parts, a queue lasted longer than a part, and a single queue would count as many parts.
const CORRELATION_MAX: f64 = 0.4;

/// The mean and the percentiles of each part of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunParts(Vec<Histogram>);

impl RunParts {
    /// From the times of each second in which any request ended.
    pub(super) fn of(seconds: &[Vec<&Histogram>]) -> Self {
        if seconds.len() < PARTS {
            return Self::default();
        }
        let mut parts = vec![Histogram::new(); PARTS];
        for (index, second) in seconds.iter().enumerate() {
            second.iter().for_each(|times| parts[index * PARTS / seconds.len()].merge(times));
        }
        Self(parts)
    }

    /// The logarithm of a number in each part.
    fn logs(&self, metric: ComparedMetric) -> Vec<f64> {
        let quantile = PERCENTILES.iter().find(|(of, _)| *of == metric).map(|(_, quantile)| *quantile);
        let number = |part: &Histogram| match quantile {
            Some(quantile) => part.quantile(quantile).map(|ns| ns as f64),
            None => part.mean(),
        };
        self.0.iter().filter_map(number).map(|ns| ns.max(1.0).ln()).collect()
    }
}

/// The row with the probability of this test, if that is smaller. `both`: the numbers of the row.
pub(super) fn apply(row: ComparedRow, both: (Estimate, Estimate), parts: (&RunParts, &RunParts)) -> ComparedRow {
    let (Some(p), Some(_)) = (row.p, row.change) else { return row };
    let found = separation(row.metric, both, parts).map_or(p, |separation| separation.min(p));
    ComparedRow { p: Some(found), ..row }
}

/// The probability that the parts of two runs of an unchanged system are separated as much as these; `None`: the change is not large, or
/// the parts of a run resemble their neighbours.
fn separation(metric: ComparedMetric, (old, new): (Estimate, Estimate), parts: (&RunParts, &RunParts)) -> Option<f64> {
    let (less, more) = if old.value < new.value { (old, new) } else { (new, old) };
    // The time that the generator may have added is no change.
    let is_large = more.value - more.uncertainty >= RATIO_MIN * less.value && less.value > 0.0;
    let (old, new) = (parts.0.logs(metric), parts.1.logs(metric));
    let is_usable = |logs: &[f64]| logs.len() == PARTS && correlation(logs) <= CORRELATION_MAX;
    (is_large && is_usable(&old) && is_usable(&new)).then(|| rank_sum_p(&old, &new))
}

/// The correlation of neighbours, corrected for the bias of so few (−1/m; Marriott and Pope, "Bias in the estimation of autocorrelations",
/// 1954).
fn correlation(values: &[f64]) -> f64 {
    let mean = crate::statistics::mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares + 1.0 / values.len() as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten parts of three seconds with 20 requests each; the mean of a part in milliseconds.
    fn parts(means: [u64; 10]) -> RunParts {
        let second = |mean: u64| {
            let mut times = Histogram::new();
            (0..20).for_each(|request| times.record(mean * 1_000_000 * (90 + request) / 100));
            times
        };
        let seconds: Vec<Histogram> = means.iter().flat_map(|mean| [second(*mean), second(*mean), second(*mean)]).collect();
        RunParts::of(&seconds.iter().map(|second| vec![second]).collect::<Vec<_>>())
    }

    fn p(old: f64, new: f64, parts: (&RunParts, &RunParts)) -> Option<f64> {
        separation(ComparedMetric::Mean, (Estimate::bare(old), Estimate::bare(new)), parts)
    }

    #[test]
    fn parts_that_all_exceed_the_others_are_no_chance_however_much_they_vary() {
        let calm = parts([28, 27, 29, 28, 30, 27, 28, 29, 28, 27]);
        let wild = parts([90, 2_000, 60, 700, 100, 1_900, 80, 300, 1_200, 150]);
        assert!(p(0.028, 0.658, (&calm, &wild)).is_some_and(|p| p < 2e-5));
        assert!(p(0.658, 0.028, (&wild, &calm)).is_some_and(|p| p < 2e-5));
        // One part of ten: whether the next run has one, too, is unknown.
        let one_stall = parts([28, 27, 29, 5_000, 30, 27, 28, 29, 28, 27]);
        assert!(p(0.028, 0.5, (&calm, &one_stall)).is_some_and(|p| p > 0.2));
    }

    #[test]
    fn a_small_change_and_one_long_queue_are_left_to_the_interval() {
        let calm = parts([28, 27, 29, 28, 30, 27, 28, 29, 28, 27]);
        assert_eq!(p(0.028, 0.05, (&calm, &parts([50, 52, 49, 50, 51, 50, 52, 49, 50, 51]))), None);
        let one_queue = parts([60, 200, 400, 700, 900, 1_000, 900, 800, 500, 300]);
        assert_eq!(p(0.028, 0.576, (&calm, &one_queue)), None);
        let unsure = Estimate { uncertainty: 0.6, ..Estimate::bare(0.65) };
        assert_eq!(separation(ComparedMetric::Mean, (Estimate::bare(0.028), unsure), (&calm, &calm)), None);
    }
}
