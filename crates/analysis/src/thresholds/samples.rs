//! The samples that a threshold's selector matches, over the run or one window, and the values measured from them.

use loadstone_metrics::{FlowSlice, Histogram, MetricValue, Outcome, SeriesKey, SeriesKind, SeriesSlice, SignalPoint, Snapshot, Tags};
use loadstone_plan::{Aggregate, Metric, MetricKind, Selector, Threshold};

use crate::censored::{CensoredTimes, Quantile, behind};
use crate::load_time::{LoadTime, RateSpan};

/// Collected from the series that a threshold selects. Memory is bounded: one set of histograms.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThresholdSamples {
    pub(crate) count: u64,
    failed: u64,
    script_errors: u64,
    times: Histogram,
    censored: Histogram,
    failed_times: Histogram,
    /// The backlog of a flow, second by second.
    levels: Levels,
    /// There was any data, even if it was only an interrupted request.
    any: bool,
    span: RateSpan,
    /// Sum of the response times of all that ended. Nanoseconds.
    response_sum: u128,
    /// The value of a custom metric.
    own: Option<MetricValue>,
}

/// A level with repeated readings.
#[derive(Debug, Clone, Copy, Default)]
struct Levels {
    readings: u64,
    sum: u64,
    min: u64,
    max: u64,
    last: u64,
}

impl Levels {
    fn add(&mut self, level: u64) {
        self.min = if self.readings == 0 { level } else { self.min.min(level) };
        self.max = self.max.max(level);
        self.last = level;
        self.sum += level;
        self.readings += 1;
    }

    fn measure(&self, aggregate: Aggregate) -> MeasuredValue {
        let value = match aggregate {
            _ if self.readings == 0 => return MeasuredValue::NoData,
            Aggregate::Mean => self.sum as f64 / self.readings as f64,
            Aggregate::Min => self.min as f64,
            Aggregate::Max => self.max as f64,
            Aggregate::Last => self.last as f64,
            Aggregate::Count | Aggregate::Rate | Aggregate::Quantile(_) => return MeasuredValue::NoData,
        };
        MeasuredValue::Value(value)
    }
}

/// A measured value in the metric's base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MeasuredValue {
    Value(f64),
    /// At least this: the rest was cut off by a time limit.
    AtLeast(f64),
    NoData,
}

impl From<Quantile> for MeasuredValue {
    fn from(quantile: Quantile) -> Self {
        match quantile {
            Quantile::Known(value) => MeasuredValue::Value(value),
            Quantile::Beyond(bound) => MeasuredValue::AtLeast(bound),
            Quantile::NoData => MeasuredValue::NoData,
        }
    }
}

/// The worst value over the windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorstWindow {
    pub(super) measured: MeasuredValue,
    pub(super) holds: bool,
    /// Start of the window. Seconds since the run began.
    pub(super) at_seconds: f64,
    pub(super) samples: u64,
}

pub(crate) fn kind_of(metric: &Metric) -> Option<SeriesKind> {
    match metric {
        Metric::ResponseTime | Metric::ServiceTime | Metric::ScheduleLag | Metric::Requests | Metric::Failures => Some(SeriesKind::Request),
        Metric::Iterations | Metric::FailedIterations | Metric::ScriptErrors | Metric::IterationTime => Some(SeriesKind::Iteration),
        Metric::Checks | Metric::PassedChecks | Metric::FailedChecks => Some(SeriesKind::Check),
        Metric::GroupTime => Some(SeriesKind::Group),
        Metric::FlowTime { .. } | Metric::FlowBacklog | Metric::FlowLost | Metric::Signal { .. } | Metric::Own { .. } => None,
    }
}

/// Whether the tags include all the tags of the threshold.
fn has_tags(threshold: &Threshold, tags: &Tags) -> bool {
    threshold.selector.tags.iter().all(|(name, value)| tags.get(name) == Some(value))
}

/// The slice's data of the series that the threshold selects: each series as a whole, or its parts with the requested tags.
pub(crate) fn selected<'a>(threshold: &'a Threshold, slice: &'a Snapshot) -> impl Iterator<Item = &'a SeriesSlice> {
    let by_tags = !threshold.selector.tags.is_empty();
    let whole = slice.series.iter().filter(move |_| !by_tags);
    let parts = slice.tagged.iter().filter(move |part| by_tags && has_tags(threshold, &part.tags)).map(|part| &part.series);
    whole.chain(parts).filter(|series| selects(threshold, &series.key))
}

/// Whether the threshold selects a series, regardless of tags.
pub(crate) fn selects(threshold: &Threshold, key: &SeriesKey) -> bool {
    let Selector { name, scenario, group, tags: _ } = &threshold.selector;
    let fits = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
    kind_of(&threshold.metric) == Some(key.kind) && fits(name, &key.name) && fits(scenario, &key.scenario) && fits(group, &key.group)
}

impl ThresholdSamples {
    /// Adds the slice's data for the threshold. Returns whether there was any. `load`: the load that the threshold selects, as known at the
    /// end of the slice.
    pub(crate) fn add(&mut self, threshold: &Threshold, slice: &Snapshot, load: LoadTime) -> bool {
        let (mut any, before) = (false, self.count);
        for series in selected(threshold, slice) {
            any = true;
            self.add_series(&threshold.metric, series);
        }
        if let Metric::Own { name, .. } = &threshold.metric {
            any |= self.add_own(threshold, name, slice);
        }
        for flow in slice.flows.iter().filter(|flow| threshold.selector.name.as_deref() == Some(&flow.name)) {
            any |= self.add_flow(&threshold.metric, flow);
        }
        self.span.push((slice.start, slice.end), self.count - before, load);
        self.any |= any;
        any
    }

    /// Whether there was any data.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Returns whether there was any data.
    fn add_flow(&mut self, metric: &Metric, flow: &FlowSlice) -> bool {
        match metric {
            Metric::FlowTime { stage } => {
                let stage = stage.as_deref().map(|name| flow.stages.iter().find(|stage| &*stage.name == name));
                let (times, bounds) = match stage {
                    None => (&flow.time, &flow.censored),
                    Some(Some(stage)) => (&stage.time, &stage.censored),
                    Some(None) => return false,
                };
                self.count += times.count();
                self.times.merge(times);
                self.censored.merge(bounds);
                !times.is_empty() || !bounds.is_empty()
            }
            Metric::FlowBacklog => {
                self.levels.add(flow.backlog);
                true
            }
            Metric::FlowLost => {
                self.count += flow.started;
                self.failed += flow.timed_out + flow.left_open;
                flow.started + flow.timed_out + flow.left_open > 0
            }
            _ => false,
        }
    }

    /// Adds a custom metric as a whole, or its parts with the requested tags.
    fn add_own(&mut self, threshold: &Threshold, name: &str, slice: &Snapshot) -> bool {
        let (by_tags, before) = (!threshold.selector.tags.is_empty(), self.count);
        for part in slice.metrics.iter().filter(|part| *part.name == *name && part.tags.is_empty() != by_tags) {
            if has_tags(threshold, &part.tags) {
                self.count += part.value.count();
                match &mut self.own {
                    Some(own) => own.merge(&part.value),
                    None => self.own = Some(part.value.clone()),
                }
            }
        }
        self.count > before
    }

    fn add_series(&mut self, metric: &Metric, series: &SeriesSlice) {
        self.count += series.count;
        self.failed += series.failed;
        self.script_errors += series.script_errors;
        self.response_sum += series.response.sum();
        match metric {
            Metric::ResponseTime | Metric::GroupTime | Metric::IterationTime => {
                self.times.merge(&series.response);
                self.censored.merge(&series.censored);
                self.failed_times.merge(&series.failed_response);
            }
            Metric::ServiceTime => {
                let CensoredTimes { ended, censored, failed } = CensoredTimes::service(series);
                self.times.merge(ended);
                self.censored.merge(censored);
                self.failed_times.merge(failed);
            }
            Metric::ScheduleLag => self.times.merge(&series.lag),
            Metric::Requests
            | Metric::Failures
            | Metric::Iterations
            | Metric::FailedIterations
            | Metric::ScriptErrors
            | Metric::Checks
            | Metric::PassedChecks
            | Metric::FailedChecks
            | Metric::FlowTime { .. }
            | Metric::FlowBacklog
            | Metric::FlowLost
            | Metric::Signal { .. }
            | Metric::Own { .. } => {}
        }
    }

    /// Number of samples of a time, or of counted events.
    pub(crate) fn samples(&self, metric: &Metric) -> u64 {
        match metric {
            Metric::FlowBacklog => self.levels.readings,
            Metric::FlowTime { .. } => self.times.count() + self.censored.count(),
            _ if is_time(metric) => self.times.count(),
            _ => self.count,
        }
    }

    /// The numerator of a share.
    fn part(&self, metric: &Metric) -> u64 {
        match metric {
            Metric::PassedChecks => self.count - self.failed,
            Metric::ScriptErrors => self.script_errors,
            _ => self.failed,
        }
    }

    /// The rate of a window is per second of its length, which is in seconds. The rate of the run is over the time that docs/metrics.md
    /// defines.
    fn per_second(&self, window_seconds: Option<f64>) -> MeasuredValue {
        let rate = match window_seconds {
            Some(seconds) => (seconds > 0.0).then(|| self.count as f64 / seconds),
            None => self.span.rate(self.response_sum as f64 / self.count.max(1) as f64),
        };
        rate.map_or(MeasuredValue::NoData, MeasuredValue::Value)
    }

    /// Times in seconds.
    pub(crate) fn measure(&self, threshold: &Threshold, window_seconds: Option<f64>) -> MeasuredValue {
        let (metric, aggregate) = (&threshold.metric, threshold.aggregate);
        let share = |part: u64| if self.count > 0 { MeasuredValue::Value(part as f64 / self.count as f64) } else { MeasuredValue::NoData };
        match (metric, aggregate) {
            (Metric::FlowBacklog, aggregate) => self.levels.measure(aggregate),
            // A counter without values is zero, also per second.
            (Metric::Own { kind: MetricKind::Counter, .. }, Aggregate::Rate) if self.own.is_none() => MeasuredValue::Value(0.0),
            (Metric::Own { .. }, aggregate) => self.measure_own(aggregate, threshold.interpolates, window_seconds),
            (Metric::Checks, Aggregate::Count) => MeasuredValue::Value(self.count as f64),
            (metric, Aggregate::Count) if metric.rate_is_share() => MeasuredValue::Value(self.part(metric) as f64),
            (metric, Aggregate::Rate) if metric.rate_is_share() => share(self.part(metric)),
            (_, Aggregate::Count) => MeasuredValue::Value(self.count as f64),
            (_, Aggregate::Rate) => self.per_second(window_seconds),
            (_, Aggregate::Last) => MeasuredValue::NoData,
            (Metric::FlowTime { .. }, Aggregate::Mean | Aggregate::Max) if !self.censored.is_empty() => {
                let (finished, open) = (&self.times, &self.censored);
                let mean = (finished.sum() + open.sum()) as f64 / (finished.count() + open.count()) as f64;
                MeasuredValue::AtLeast(if aggregate == Aggregate::Mean { mean } else { finished.max().max(open.max()) as f64 } / 1e9)
            }
            (_, Aggregate::Mean) => self.censored_times().mean().map_or(MeasuredValue::NoData, MeasuredValue::Value),
            (_, Aggregate::Min) if self.times.is_empty() => MeasuredValue::NoData,
            (_, Aggregate::Min) => MeasuredValue::Value(self.times.min() as f64 / 1e9),
            (_, Aggregate::Max) => self.censored_times().longest().into(),
            (Metric::FlowTime { .. }, Aggregate::Quantile(q)) => behind(&self.times, &self.censored, q).into(),
            (_, Aggregate::Quantile(q)) => self.censored_times().quantile(q).into(),
        }
    }

    /// In the metric's unit. A count without values is zero.
    fn measure_own(&self, aggregate: Aggregate, interpolates: bool, window_seconds: Option<f64>) -> MeasuredValue {
        let value = match (&self.own, aggregate) {
            (None, Aggregate::Count) => Some(0.0),
            (None, _) => None,
            (Some(MetricValue::Trend(values)), aggregate) => match aggregate {
                Aggregate::Count => Some(values.count() as f64),
                Aggregate::Mean => values.mean(),
                Aggregate::Min => values.min(),
                Aggregate::Max => values.max(),
                Aggregate::Quantile(q) if interpolates => values.interpolated_quantile(q),
                Aggregate::Quantile(q) => values.quantile(q),
                Aggregate::Rate | Aggregate::Last => None,
            },
            (Some(MetricValue::Counter { sum, .. }), Aggregate::Count) => Some(*sum),
            (Some(MetricValue::Counter { sum, count }), Aggregate::Rate) => match self.per_second(window_seconds) {
                MeasuredValue::Value(recorded) => Some(recorded * sum / (*count).max(1) as f64),
                _ => None,
            },
            (Some(MetricValue::Gauge(gauge)), aggregate) => match aggregate {
                Aggregate::Last => Some(gauge.last),
                Aggregate::Mean => Some(gauge.sum / gauge.count.max(1) as f64),
                Aggregate::Min => Some(gauge.min),
                Aggregate::Max => Some(gauge.max),
                Aggregate::Count | Aggregate::Rate | Aggregate::Quantile(_) => None,
            },
            (Some(MetricValue::Rate { hits, .. }), Aggregate::Count) => Some(*hits as f64),
            (Some(MetricValue::Rate { hits, count }), Aggregate::Rate) => Some(*hits as f64 / (*count).max(1) as f64),
            (Some(MetricValue::Counter { .. } | MetricValue::Rate { .. }), _) => None,
        };
        value.map_or(MeasuredValue::NoData, MeasuredValue::Value)
    }

    fn censored_times(&self) -> CensoredTimes<'_> {
        CensoredTimes { ended: &self.times, censored: &self.censored, failed: &self.failed_times }
    }

    /// Whether some requests were cut off without a response.
    pub(crate) fn is_cut_off(&self) -> bool {
        !self.censored.is_empty()
    }
}

pub(crate) fn is_time(metric: &Metric) -> bool {
    matches!(
        metric,
        Metric::ResponseTime
            | Metric::ServiceTime
            | Metric::ScheduleLag
            | Metric::GroupTime
            | Metric::IterationTime
            | Metric::FlowTime { .. }
    )
}

/// Whether the slice has an event that ended, was interrupted or was checked under the key; for the list of known names.
pub(crate) fn is_known(series: &SeriesSlice) -> bool {
    series.count > 0 || series.outcomes.iter().any(|(outcome, _)| *outcome == Outcome::Interrupted)
}

/// Aggregates the points of a signal. The rate of a counter is its growth per second.
pub(crate) fn measure_points(points: &[SignalPoint], aggregate: Aggregate) -> MeasuredValue {
    let values = points.iter().map(|point| point.value);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return MeasuredValue::NoData };
    match aggregate {
        Aggregate::Count => MeasuredValue::Value(points.len() as f64),
        Aggregate::Last => MeasuredValue::Value(last.value),
        Aggregate::Min => MeasuredValue::Value(values.fold(f64::INFINITY, f64::min)),
        Aggregate::Max => MeasuredValue::Value(values.fold(f64::NEG_INFINITY, f64::max)),
        Aggregate::Mean => MeasuredValue::Value(values.sum::<f64>() / points.len() as f64),
        Aggregate::Rate if last.at > first.at => MeasuredValue::Value((last.value - first.value) / ((last.at - first.at) as f64 / 1e9)),
        Aggregate::Rate => MeasuredValue::NoData,
        Aggregate::Quantile(q) => {
            let mut sorted: Vec<f64> = values.collect();
            sorted.sort_by(f64::total_cmp);
            let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
            MeasuredValue::Value(sorted[rank - 1])
        }
    }
}
