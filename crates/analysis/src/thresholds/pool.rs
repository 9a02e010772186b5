//! What a threshold has gathered: the samples that its selector picks, over the run or one window.

use metrics::{Histogram, Outcome, SeriesKey, SeriesKind, SeriesSlice, SignalPoint, Snapshot};
use plan::{Aggregate, Metric, Selector, Threshold};

use crate::censored::{Quantile, Times};

/// Gathered from the series that a threshold speaks of. Memory is bounded: one set of histograms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    pub(crate) count: u64,
    pub(crate) failed: u64,
    times: Histogram,
    censored: Histogram,
    failed_times: Histogram,
    /// Instants of the first and last slice that held anything. Nanoseconds.
    span: Option<(u64, u64)>,
}

/// A measured value in the metric's base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measured {
    Value(f64),
    /// At least this: the rest was cut off by a time limit.
    AtLeast(f64),
    NoData,
}

pub(crate) fn kind_of(metric: &Metric) -> Option<SeriesKind> {
    match metric {
        Metric::ResponseTime | Metric::ServiceTime | Metric::ScheduleLag | Metric::Requests | Metric::Failures => Some(SeriesKind::Request),
        Metric::Iterations => Some(SeriesKind::Iteration),
        Metric::Checks => Some(SeriesKind::Check),
        Metric::GroupTime => Some(SeriesKind::Group),
        Metric::FlowTime => Some(SeriesKind::Flow),
        Metric::Signal { .. } => None,
    }
}

/// Whether a series is one that the threshold speaks of.
pub(crate) fn selects(threshold: &Threshold, key: &SeriesKey) -> bool {
    let Selector { name, scenario, group } = &threshold.selector;
    let fits = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
    kind_of(&threshold.metric) == Some(key.kind) && fits(name, &key.name) && fits(scenario, &key.scenario) && fits(group, &key.group)
}

impl Pool {
    /// Adds what the slice holds for the threshold; whether there was anything.
    pub(crate) fn add(&mut self, threshold: &Threshold, slice: &Snapshot) -> bool {
        let mut any = false;
        for series in slice.series.iter().filter(|series| selects(threshold, &series.key)) {
            any = true;
            self.add_series(&threshold.metric, series);
        }
        if any {
            let (start, _) = self.span.unwrap_or((slice.start, slice.end));
            self.span = Some((start.min(slice.start), slice.end));
        }
        any
    }

    fn add_series(&mut self, metric: &Metric, series: &SeriesSlice) {
        self.count += series.count;
        self.failed += series.failed;
        match metric {
            Metric::ResponseTime | Metric::GroupTime | Metric::FlowTime | Metric::Iterations => {
                self.times.merge(&series.response);
                self.censored.merge(&series.censored);
                self.failed_times.merge(&series.failed_response);
            }
            Metric::ServiceTime => self.times.merge(&series.service),
            Metric::ScheduleLag => self.times.merge(&series.lag),
            Metric::Requests | Metric::Failures | Metric::Checks | Metric::Signal { .. } => {}
        }
    }

    /// Seconds from the first slice that held anything to the end of the last.
    pub(crate) fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |(start, end)| end.saturating_sub(start) as f64 / 1e9)
    }

    /// Samples behind a time, or things counted.
    pub(crate) fn samples(&self, metric: &Metric) -> u64 {
        if is_time(metric) { self.times.count() } else { self.count }
    }

    /// Per second over `seconds`; times in seconds.
    pub(crate) fn measure(&self, metric: &Metric, aggregate: Aggregate, seconds: f64) -> Measured {
        let per_second = |count: u64| if seconds > 0.0 { Measured::Value(count as f64 / seconds) } else { Measured::NoData };
        let share = |part: u64| if self.count > 0 { Measured::Value(part as f64 / self.count as f64) } else { Measured::NoData };
        match (metric, aggregate) {
            (Metric::Failures, Aggregate::Count) => Measured::Value(self.failed as f64),
            (Metric::Failures | Metric::Checks, Aggregate::Rate) => share(self.failed),
            (_, Aggregate::Count) => Measured::Value(self.count as f64),
            (_, Aggregate::Rate) => per_second(self.count),
            (_, Aggregate::Last) => Measured::NoData,
            (_, Aggregate::Mean) => self.times.mean().map_or(Measured::NoData, |ns| Measured::Value(ns / 1e9)),
            (_, Aggregate::Min | Aggregate::Max) if self.times.is_empty() => Measured::NoData,
            (_, Aggregate::Min) => Measured::Value(self.times.min() as f64 / 1e9),
            (_, Aggregate::Max) => Measured::Value(self.times.max() as f64 / 1e9),
            (_, Aggregate::Quantile(q)) => {
                let times = Times { ended: &self.times, censored: &self.censored, failed: &self.failed_times };
                match times.quantile(q) {
                    Quantile::Known(value) => Measured::Value(value),
                    Quantile::Beyond(bound) => Measured::AtLeast(bound),
                    Quantile::NoData => Measured::NoData,
                }
            }
        }
    }

    /// Requests that were not answered in time.
    pub(crate) fn is_cut_off(&self) -> bool {
        !self.censored.is_empty()
    }
}

pub(crate) fn is_time(metric: &Metric) -> bool {
    matches!(metric, Metric::ResponseTime | Metric::ServiceTime | Metric::ScheduleLag | Metric::GroupTime | Metric::FlowTime)
}

/// Whether the slice holds something that ended, was interrupted or was checked under the key; for listing known names.
pub(crate) fn is_known(series: &SeriesSlice) -> bool {
    series.count > 0 || series.outcomes.iter().any(|(outcome, _)| *outcome == Outcome::Interrupted)
}

/// Aggregates the points of a signal. A counter's rate is its growth per second.
pub(crate) fn measure_points(points: &[SignalPoint], aggregate: Aggregate) -> Measured {
    let values = points.iter().map(|point| point.value);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Measured::NoData };
    match aggregate {
        Aggregate::Count => Measured::Value(points.len() as f64),
        Aggregate::Last => Measured::Value(last.value),
        Aggregate::Min => Measured::Value(values.fold(f64::INFINITY, f64::min)),
        Aggregate::Max => Measured::Value(values.fold(f64::NEG_INFINITY, f64::max)),
        Aggregate::Mean => Measured::Value(values.sum::<f64>() / points.len() as f64),
        Aggregate::Rate if last.at > first.at => Measured::Value((last.value - first.value) / ((last.at - first.at) as f64 / 1e9)),
        Aggregate::Rate => Measured::NoData,
        Aggregate::Quantile(q) => {
            let mut sorted: Vec<f64> = values.collect();
            sorted.sort_by(f64::total_cmp);
            let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            Measured::Value(sorted[rank - 1])
        }
    }
}
