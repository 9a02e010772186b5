//! Distributions in a handful of numbers. Definitions: docs/metrics.md.

use loadstone_metrics::{Histogram, ValueHistogram};

use crate::censored::{CensoredTimes, Quantile, behind};
use crate::time_stats::{Percentile, TimeStats};

/// The percentiles that a summary lists.
pub const LISTED: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// From this quantile upward, a percentile is only shown when enough samples lie beyond it.
const GUARDED_FROM: f64 = 0.9;

/// Samples beyond a percentile without which it says little: with fewer than ten, its 95 % order-statistic interval reaches
/// from about half to more than twice its share of the tail.
pub const SAMPLES_BEYOND_MIN: u64 = 10;

/// Samples beyond a percentile: those ranked above its nearest rank.
pub(crate) fn samples_beyond(count: u64, quantile: f64) -> u64 {
    count.saturating_sub((quantile * count as f64).ceil() as u64)
}

/// Samples that a percentile needs before it is shown; n(1 − q) ≥ 10 from p90 upward, 1 below.
pub fn samples_needed(quantile: f64) -> u64 {
    if quantile < GUARDED_FROM - 1e-9 { 1 } else { (SAMPLES_BEYOND_MIN as f64 / (1.0 - quantile) - 1e-6).ceil() as u64 }
}

/// `interval` gives the 95 % interval of a listed quantile, where one is wanted.
pub(crate) fn stats(times: CensoredTimes<'_>, interval: impl Fn(f64) -> (Option<f64>, Option<f64>)) -> TimeStats {
    let count = times.count();
    if count == 0 && times.censored.is_empty() {
        return TimeStats::default();
    }
    let listed = LISTED.iter().map(|quantile| percentile(times, *quantile, interval(*quantile))).collect();
    let (max, max_is_bound) = match times.longest() {
        Quantile::Known(max) => (Some(max), false),
        Quantile::Beyond(max) => (Some(max), true),
        Quantile::NoData => (None, false),
    };
    TimeStats {
        count,
        mean: times.mean(),
        min: (count > 0).then(|| times.ended.min() as f64 / 1e9),
        max,
        max_is_bound,
        percentiles: listed,
        ..TimeStats::default()
    }
}

/// The statistics of times that were all seen to their end.
pub(crate) fn stats_of(histogram: &Histogram) -> TimeStats {
    let none = Histogram::new();
    stats(CensoredTimes { ended: histogram, censored: &none, failed: &none }, |_| (None, None))
}

/// Of a flow's journeys: `open` holds lower bounds of the times of those that did not finish. Count, mean and extremes are of those
/// that did.
pub(crate) fn flow_stats(finished: &Histogram, open: &Histogram) -> TimeStats {
    let all = finished.count() + open.count();
    if all == 0 {
        return TimeStats::default();
    }
    let listed = |quantile: &f64| shown(behind(finished, open, *quantile), all, *quantile, (None, None));
    TimeStats {
        count: finished.count(),
        mean: finished.mean().map(|ns| ns / 1e9),
        min: (!finished.is_empty()).then(|| finished.min() as f64 / 1e9),
        max: (!finished.is_empty()).then(|| finished.max() as f64 / 1e9),
        max_is_bound: false,
        percentiles: LISTED.iter().map(listed).collect(),
        ..TimeStats::default()
    }
}

/// Of values of the test's own.
pub(crate) fn value_percentiles(values: &ValueHistogram) -> Vec<Percentile> {
    let found = |quantile| values.quantile(quantile).map_or(Quantile::NoData, Quantile::Known);
    LISTED.iter().map(|quantile| shown(found(*quantile), values.count(), *quantile, (None, None))).collect()
}

fn percentile(times: CensoredTimes<'_>, quantile: f64, interval: (Option<f64>, Option<f64>)) -> Percentile {
    shown(times.quantile(quantile), times.count(), quantile, interval)
}

fn shown(found: Quantile, count: u64, quantile: f64, interval: (Option<f64>, Option<f64>)) -> Percentile {
    let empty = Percentile { quantile, value: None, low: None, high: None, samples_beyond: samples_beyond(count, quantile), doubt: None };
    if count < samples_needed(quantile) {
        return empty;
    }
    match found {
        Quantile::Known(value) => Percentile {
            value: Some(value),
            low: interval.0.map(|low| low.min(value)),
            high: interval.1.map(|high| high.max(value)),
            ..empty
        },
        Quantile::Beyond(bound) => Percentile { low: Some(bound), ..empty },
        Quantile::NoData => empty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> TimeStats {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        stats_of(&histogram)
    }

    #[test]
    fn a_tail_percentile_needs_ten_samples_beyond_it() {
        for (quantile, needed) in [(0.5, 1), (0.75, 1), (0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000)] {
            assert_eq!(samples_needed(quantile), needed, "{quantile}");
        }
        assert_eq!((of(1..=99).at(0.9), of(1..=100).at(0.9)), (None, Some(90e-9)));
        assert_eq!(of([7]).at(0.75), Some(7e-9));
        assert_eq!(of(1..=100).percentiles[2].samples_beyond, 10);
    }

    #[test]
    fn no_samples_are_no_numbers() {
        assert_eq!(of([]), TimeStats::default());
    }
}
