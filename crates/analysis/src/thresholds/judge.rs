//! Follows one threshold through the run: when it is judged, and when its failure is certain.

use std::collections::BTreeSet;

use loadstone_metrics::{SignalKind, SignalPoint, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric, MetricKind, Threshold, Window};
use loadstone_run_directory::SignalSeries;

use super::samples::{self, MeasuredValue, ThresholdSamples, WorstWindow, measure_points};
use super::wording;
use crate::load_time::LoadTime;
use crate::statistics::{SAMPLES_BEYOND_MIN, samples_beyond};
use crate::{ThresholdResult, ThresholdState};

/// A threshold that could recover must fail for this many consecutive seconds before it stops the run.
const FAILING_SECONDS_MIN: u32 = 10;
/// Minimum number of samples of a mean, and of a share, before it stops the run.
const MEAN_SAMPLES_MIN: u64 = 10;
const SHARE_SAMPLES_MIN: u64 = 100;
/// Maximum number of points of a signal that are kept for a threshold: more than a day of seconds.
const SIGNAL_POINTS_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Judge {
    threshold: Threshold,
    /// The samples of the whole run, or of the current window.
    samples: ThresholdSamples,
    window: Option<OpenWindow>,
    worst: Option<WorstWindow>,
    windows_judged: u32,
    windows_failed: u32,
    /// The first slice in which a selected event ended, even during the warm-up.
    first_ended: Option<u32>,
    /// The start of the load is known.
    knows_load: bool,
    failing_seconds: u32,
    certain: bool,
    /// Readings of the signal; for a counter, its growth per second between readings.
    points: Vec<SignalPoint>,
    /// The previous reading of a counter.
    previous: Option<SignalPoint>,
}

/// The current window. Seconds are counted by slices.
#[derive(Debug, Clone, Copy)]
struct OpenWindow {
    first_slice: u32,
    /// Last slice with any data.
    last_slice: u32,
}

/// The seconds that form windows, if the start and end of the load are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edges {
    /// All seconds with data.
    Any,
    /// Seconds of the load. The first may be partial: its window can hold, but not fail.
    LoadOnly,
    /// Complete seconds of the load.
    WholeOnly,
}

impl Judge {
    pub(super) fn new(threshold: Threshold) -> Self {
        Self {
            threshold,
            samples: ThresholdSamples::default(),
            window: None,
            worst: None,
            windows_judged: 0,
            windows_failed: 0,
            first_ended: None,
            knows_load: false,
            failing_seconds: 0,
            certain: false,
            points: Vec::new(),
            previous: None,
        }
    }

    pub(super) fn threshold(&self) -> &Threshold {
        &self.threshold
    }

    /// Returns true if the slice makes the failure certain. `load`: the load that the threshold selects.
    pub(super) fn push(&mut self, slice: &Snapshot, load: LoadTime) -> bool {
        if matches!(self.threshold.metric, Metric::Signal { .. }) {
            return false;
        }
        let mut samples = ThresholdSamples::default();
        let any = samples.add(&self.threshold, slice, load);
        self.knows_load |= load.began.is_some();
        if samples.count > 0 {
            self.first_ended.get_or_insert(slice.slice);
        }
        if slice.slice < self.threshold.after_seconds {
            return false;
        }
        match self.threshold.window {
            Window::WholeRun => {
                self.samples.add(&self.threshold, slice, load);
                self.count_failing(any);
            }
            Window::Every { seconds } => {
                let fills = match self.edges() {
                    Edges::Any => any,
                    Edges::LoadOnly => {
                        samples.count > 0 && (load.began.is_none() || load.covers(slice) || self.first_ended == Some(slice.slice))
                    }
                    // In the second in which the first event ends, no event could end before it.
                    Edges::WholeOnly => {
                        samples.count > 0 && (load.began.is_none() || load.covers(slice) && self.first_ended != Some(slice.slice))
                    }
                };
                if fills {
                    self.push_window(slice, load, seconds.max(1));
                }
            }
        }
        let now = !self.certain && (self.is_certain() || self.stops_at(slice.slice));
        self.certain |= now;
        now
    }

    /// Whether it fails at a second at which failing is enough to stop the run.
    fn stops_at(&self, slice: u32) -> bool {
        let is_due = self.threshold.abort_while_failing_after.is_some_and(|after| slice + 1 >= after);
        is_due && self.window.is_none() && self.holds(self.measured()) == Some(false)
    }

    /// Windows are adjacent and begin with the first slice with selected data. A window is judged when a later one begins, so that seconds
    /// after the last such slice never count as empty windows.
    fn push_window(&mut self, slice: &Snapshot, load: LoadTime, seconds: u32) {
        while let Some(open) = self.window
            && slice.slice >= open.first_slice + seconds
        {
            self.judge_window(open, f64::from(seconds));
            self.samples = ThresholdSamples::default();
            let first_slice = open.first_slice + seconds;
            self.window = Some(OpenWindow { first_slice, last_slice: first_slice });
        }
        let open = self.window.get_or_insert(OpenWindow { first_slice: slice.slice, last_slice: slice.slice });
        open.last_slice = slice.slice;
        self.samples.add(&self.threshold, slice, load);
    }

    /// The effect of the edges of the load on a window: a partial second can have too little data, never too much.
    fn edges(&self) -> Edges {
        let is_upper = matches!(self.threshold.bound.comparison, Comparison::Below | Comparison::AtMost);
        match self.threshold.aggregate {
            Aggregate::Rate if !self.threshold.metric.rate_is_share() => Edges::WholeOnly,
            Aggregate::Count if !is_upper => Edges::LoadOnly,
            _ => Edges::Any,
        }
    }

    fn judge_window(&mut self, open: OpenWindow, seconds: f64) {
        let measured = self.samples.measure(&self.threshold, Some(seconds));
        // A window in which nothing ended has no times; its counts and rates are zero.
        let Some(holds) = self.holds(measured) else { return };
        let is_cut = self.edges() == Edges::LoadOnly && self.first_ended == Some(open.first_slice) && self.knows_load;
        if is_cut && !holds {
            return;
        }
        self.windows_judged += 1;
        self.windows_failed += u32::from(!holds);
        let window =
            WorstWindow { measured, holds, at_seconds: f64::from(open.first_slice), samples: self.samples.samples(&self.threshold.metric) };
        if self.worst.is_none_or(|worst| self.is_worse(&window, &worst)) {
            self.worst = Some(window);
        }
    }

    /// The run is over: judges the last window if it is at least half full. A count in a partial window can only be judged against an upper
    /// bound, since the missing seconds could only have increased it.
    ///
    /// A signal with a label that never appeared, while other labels of the same metric did (no session ever waited for that lock), was
    /// zero.
    pub(super) fn close(&mut self, signals: &BTreeSet<String>) {
        if let Metric::Signal { name } = &self.threshold.metric
            && self.points.is_empty()
            && let Some((metric, _)) = name.split_once('{')
            && signals.iter().any(|known| known.split_once('{').is_some_and(|(known, _)| known == metric))
        {
            self.points.push(SignalPoint { at: u64::from(self.threshold.after_seconds) * 1_000_000_000, value: 0.0 });
        }
        let (Window::Every { seconds }, Some(open)) = (self.threshold.window, self.window.take()) else { return };
        let covered = open.last_slice - open.first_slice + 1;
        let is_full = covered >= seconds;
        let is_count = self.threshold.aggregate == Aggregate::Count;
        let is_upper = matches!(self.threshold.bound.comparison, Comparison::Below | Comparison::AtMost);
        if is_full || (covered * 2 >= seconds && (!is_count || is_upper)) {
            self.judge_window(open, f64::from(covered));
        }
    }

    /// Whether the bound holds; `None` without data, or if a lower bound on the value does not decide.
    fn holds(&self, measured: MeasuredValue) -> Option<bool> {
        let bound = self.threshold.bound;
        match measured {
            MeasuredValue::Value(value) => Some(bound.holds(value)),
            MeasuredValue::NoData => None,
            // The value is at least this. For an upper bound this is a failure if the bound is not above it. A bound beyond the longest
            // wait cannot be shown to hold either, so it fails.
            MeasuredValue::AtLeast(least) => match bound.comparison {
                Comparison::Below | Comparison::AtMost | Comparison::Equals => Some(false),
                Comparison::Above | Comparison::AtLeast => Some(bound.holds(least)),
            },
        }
    }

    fn is_worse(&self, a: &WorstWindow, b: &WorstWindow) -> bool {
        if a.holds != b.holds {
            return !a.holds;
        }
        let distance = |worst: &WorstWindow| {
            let (MeasuredValue::Value(value) | MeasuredValue::AtLeast(value)) = worst.measured else { return f64::NEG_INFINITY };
            match self.threshold.bound.comparison {
                Comparison::Below | Comparison::AtMost => value,
                Comparison::Above | Comparison::AtLeast => -value,
                Comparison::Equals => (value - self.threshold.bound.value).abs(),
            }
        };
        distance(a) > distance(b)
    }

    fn measured(&self) -> MeasuredValue {
        if matches!(self.threshold.metric, Metric::Signal { .. }) {
            return measure_points(&self.points, self.threshold.aggregate);
        }
        self.samples.measure(&self.threshold, None)
    }

    /// The number of samples of a threshold on times; `None` for other metrics.
    pub(super) fn samples_of_time(&self) -> Option<u64> {
        samples::is_time(&self.threshold.metric).then(|| self.samples.samples(&self.threshold.metric))
    }

    fn count_failing(&mut self, any: bool) {
        if !any {
            return;
        }
        let failing = self.holds(self.measured()) == Some(false) && self.has_enough_samples();
        self.failing_seconds = if failing { self.failing_seconds + 1 } else { 0 };
    }

    /// Enough samples so that a failing value is not caused by the first few requests.
    fn has_enough_samples(&self) -> bool {
        if matches!(self.threshold.metric, Metric::Signal { .. }) {
            return self.points.len() as u64 >= MEAN_SAMPLES_MIN;
        }
        let samples = self.samples.samples(&self.threshold.metric);
        match (&self.threshold.metric, self.threshold.aggregate) {
            (metric, Aggregate::Rate) if metric.rate_is_share() => samples >= SHARE_SAMPLES_MIN,
            (_, Aggregate::Quantile(q)) => samples_beyond(samples, q) >= SAMPLES_BEYOND_MIN,
            _ => samples >= MEAN_SAMPLES_MIN,
        }
    }

    fn is_certain(&self) -> bool {
        if self.threshold.window != Window::WholeRun {
            return self.windows_failed > 0;
        }
        let bound = self.threshold.bound;
        let failing = self.holds(self.measured()) == Some(false);
        let upper = matches!(bound.comparison, Comparison::Below | Comparison::AtMost);
        let equals = bound.comparison == Comparison::Equals;
        match (&self.threshold.metric, self.threshold.aggregate) {
            // A count and a maximum can only grow; a minimum can only fall.
            (_, Aggregate::Max) => failing && (upper || (equals && self.exceeds())),
            (_, Aggregate::Count) => failing && (upper || (equals && self.exceeds())),
            (_, Aggregate::Min) => failing && (!upper && !equals || (equals && !self.exceeds())),
            // A single event refutes "all" and "none".
            (Metric::PassedChecks, Aggregate::Rate) if !upper && bound.value >= 1.0 => failing,
            (Metric::PassedChecks, Aggregate::Rate) => self.failing_seconds >= FAILING_SECONDS_MIN,
            (metric, Aggregate::Rate) if metric.rate_is_share() && (upper || equals) && bound.value == 0.0 => failing,
            // The last value may change.
            (_, Aggregate::Last) => false,
            // A throughput can be reached later.
            (metric, Aggregate::Rate) if !metric.rate_is_share() && !upper => false,
            _ => self.failing_seconds >= FAILING_SECONDS_MIN,
        }
    }

    fn exceeds(&self) -> bool {
        matches!(self.measured(), MeasuredValue::Value(value) | MeasuredValue::AtLeast(value) if value > self.threshold.bound.value)
    }

    /// Returns true if the points make the failure certain.
    pub(super) fn push_signals(&mut self, batch: &[SignalSeries]) -> bool {
        let Metric::Signal { name } = &self.threshold.metric else { return false };
        let mut any = false;
        for series in batch.iter().filter(|series| series.signal.name == *name) {
            any = true;
            let after_ns = u64::from(self.threshold.after_seconds) * 1_000_000_000;
            for point in &series.points {
                let read = match series.signal.kind {
                    SignalKind::Gauge => Some(*point),
                    SignalKind::Counter => {
                        let growth = self.previous.replace(*point).and_then(|before| point.growth_since(&before));
                        growth.map(|value| SignalPoint { at: point.at, value })
                    }
                };
                self.points.extend(read.filter(|read| read.at >= after_ns && self.points.len() < SIGNAL_POINTS_MAX));
            }
        }
        if any && self.threshold.window == Window::WholeRun {
            self.count_failing(true);
        }
        let now = any && !self.certain && self.is_certain();
        self.certain |= now;
        now
    }

    /// `ended`: no slice follows, and a threshold that has not failed has passed. `interval`: 95 % interval of a percentile over the whole
    /// run.
    pub(super) fn result(&self, ended: bool, interval: Option<(f64, f64)>) -> ThresholdResult {
        let worst = match self.threshold.window {
            Window::WholeRun => {
                let measured = self.measured();
                let samples = self.samples.samples(&self.threshold.metric);
                self.whole_run_holds(measured, ended).map(|holds| WorstWindow { measured, holds, at_seconds: 0.0, samples })
            }
            Window::Every { seconds } if matches!(self.threshold.metric, Metric::Signal { .. }) => self.worst_of_signal(seconds.max(1)),
            Window::Every { .. } => self.worst,
        };
        let state = match &worst {
            Some(worst) if !worst.holds && (ended || self.certain) => ThresholdState::Failed,
            Some(_) if ended => ThresholdState::Passed,
            None if ended && self.threshold.passes_without_data => ThresholdState::Passed,
            None if ended => ThresholdState::NoData,
            _ => ThresholdState::Pending,
        };
        let failing = state == ThresholdState::Pending && worst.as_ref().is_some_and(|worst| !worst.holds);
        let is_window = self.threshold.window != Window::WholeRun;
        let value = worst.as_ref().and_then(|worst| match worst.measured {
            MeasuredValue::Value(value) | MeasuredValue::AtLeast(value) => Some(value),
            MeasuredValue::NoData => None,
        });
        let (reading, detail) = match &worst {
            Some(worst) => {
                let reading = wording::reading(&self.threshold, worst, interval, (self.windows_failed, self.windows_judged));
                let reading = if ended { reading } else { format!("so far {reading}") };
                let detail = wording::detail(&self.threshold, worst, &reading, self.samples.is_cut_off());
                let outlook = if ended { "" } else { wording::outlook(state, failing) };
                (reading, detail + outlook)
            }
            None => (String::new(), "nothing measured yet".to_owned()),
        };
        ThresholdResult {
            threshold: self.threshold.clone(),
            state,
            measured: value,
            failing,
            at_seconds: worst.filter(|_| is_window).map(|worst| worst.at_seconds),
            detail,
            reading,
        }
    }

    /// A count without data is zero only where something could have been counted: a selector that matches no series has no data. Scripts
    /// that never ended an iteration have no script errors.
    fn whole_run_holds(&self, measured: MeasuredValue, ended: bool) -> Option<bool> {
        let is_known = match self.threshold.metric {
            Metric::Signal { .. } => true,
            Metric::ScriptErrors => self.threshold.selector.scenario.is_none(),
            // A counter without values is zero.
            Metric::Own { kind: MetricKind::Counter, .. } => matches!(self.threshold.aggregate, Aggregate::Count | Aggregate::Rate),
            _ => false,
        };
        let nothing = !self.samples.any() && !is_known;
        if nothing && (ended || self.threshold.aggregate != Aggregate::Count) { None } else { self.holds(measured) }
    }

    /// Adjacent windows over the points of a signal.
    fn worst_of_signal(&self, seconds: u32) -> Option<WorstWindow> {
        let begin = self.points.first()?.at;
        let window_ns = u64::from(seconds) * 1_000_000_000;
        let mut worst: Option<WorstWindow> = None;
        for points in self.points.chunk_by(|a, b| (a.at - begin) / window_ns == (b.at - begin) / window_ns) {
            let measured = measure_points(points, self.threshold.aggregate);
            let Some(holds) = self.holds(measured) else { continue };
            let window = WorstWindow { measured, holds, at_seconds: points[0].at as f64 / 1e9, samples: points.len() as u64 };
            if worst.as_ref().is_none_or(|worst| self.is_worse(&window, worst)) {
                worst = Some(window);
            }
        }
        worst
    }
}
