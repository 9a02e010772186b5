//! The numbers that summarise a distribution. Definitions: docs/metrics.md.

use loadstone_metrics::{Histogram, ValueHistogram};

use crate::censored::{CensoredTimes, Quantile, behind};
use crate::statistics::{samples_beyond, samples_needed};
use crate::time_stats::{Percentile, TimeStats};

/// The percentiles that a summary lists.
pub const LISTED: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The statistics of times, some of which may have been cut off. `interval` returns the 95 % interval of a listed quantile.
pub(crate) fn stats(times: CensoredTimes<'_>, interval: impl Fn(f64) -> (Option<f64>, Option<f64>)) -> TimeStats {
    let count = times.count();
    if count == 0 && times.censored.is_empty() {
        return TimeStats::default();
    }
    let (max, max_is_bound) = match times.longest() {
        Quantile::Known(max) => (Some(max), false),
        Quantile::Beyond(max) => (Some(max), true),
        Quantile::NoData => (None, false),
    };
    let shown_interval = |quantile| within_longest(interval(quantile), max.filter(|_| !max_is_bound));
    let listed = LISTED.iter().map(|quantile| percentile(times, *quantile, shown_interval(*quantile))).collect();
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

/// The statistics of times that all ended.
pub(crate) fn stats_of(histogram: &Histogram) -> TimeStats {
    let none = Histogram::new();
    stats(CensoredTimes { ended: histogram, censored: &none, failed: &none }, |_| (None, None))
}

/// The statistics of a flow's journeys. `open` holds lower bounds of the times of those that did not finish. Count, mean and extremes include only those that
/// did.
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

/// The percentiles of values that a test records itself.
pub(crate) fn value_percentiles(values: &ValueHistogram) -> Vec<Percentile> {
    let found = |quantile| values.quantile(quantile).map_or(Quantile::NoData, Quantile::Known);
    LISTED.iter().map(|quantile| shown(found(*quantile), values.count(), *quantile, (None, None))).collect()
}

/// An interval without an upper end beyond the longest time: such an end continues the samples by a model of their tail. It serves comparisons, but the samples
/// do not show it. Seconds.
pub(crate) fn within_longest((low, high): (Option<f64>, Option<f64>), longest: Option<f64>) -> (Option<f64>, Option<f64>) {
    (low, high.filter(|high| longest.is_none_or(|longest| *high <= longest)))
}

fn percentile(times: CensoredTimes<'_>, quantile: f64, interval: (Option<f64>, Option<f64>)) -> Percentile {
    shown(times.quantile(quantile), times.count(), quantile, interval)
}

fn shown(found: Quantile, count: u64, quantile: f64, interval: (Option<f64>, Option<f64>)) -> Percentile {
    let empty =
        Percentile { quantile, value: None, low: None, high: None, samples_beyond: samples_beyond(count, quantile), uncertainty: None };
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
        assert_eq!((of(1..=99).at(0.9), of(1..=100).at(0.9)), (None, Some(90e-9)));
        assert_eq!(of([7]).at(0.75), Some(7e-9));
        assert_eq!(of(1..=100).percentiles[2].samples_beyond, 10);
    }

    #[test]
    fn an_end_of_an_interval_beyond_the_longest_time_is_not_shown() {
        assert_eq!(within_longest((Some(3.6), Some(15.1)), Some(4.8)), (Some(3.6), None));
        assert_eq!(within_longest((Some(3.6), Some(4.8)), Some(4.8)), (Some(3.6), Some(4.8)));
        // Requests that a time limit cut off would have taken longer.
        assert_eq!(within_longest((Some(3.6), Some(15.1)), None), (Some(3.6), Some(15.1)));
    }

    #[test]
    fn no_samples_are_no_numbers() {
        assert_eq!(of([]), TimeStats::default());
    }
}
