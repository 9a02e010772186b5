//! One threshold through the run: when it is judged, and when its failure is certain.

use std::collections::BTreeSet;

use loadstone_metrics::{SignalKind, SignalPoint, Snapshot};
use loadstone_plan::{Aggregate, Comparison, Metric, MetricKind, Threshold, Window};
use loadstone_run_directory::SignalSeries;

use super::samples::{self, MeasuredValue, ThresholdSamples, WorstWindow, measure_points};
use super::wording;
use crate::load_time::LoadTime;
use crate::statistics::{SAMPLES_BEYOND_MIN, samples_beyond};
use crate::{ThresholdResult, ThresholdState};

/// Seconds in a row that a threshold which could still recover must fail before the run is stopped for it.
const FAILING_SECONDS: u32 = 10;
/// Samples that a mean, and a share, need before the run is stopped for them.
const MEAN_SAMPLES_MIN: u64 = 10;
const SHARE_SAMPLES_MIN: u64 = 100;
/// Points of a signal that are kept for a threshold: more than a day of seconds.
const SIGNAL_POINTS_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Judge {
    threshold: Threshold,
    /// Whole run, or the window now open.
    samples: ThresholdSamples,
    window: Option<OpenWindow>,
    worst: Option<WorstWindow>,
    windows_judged: u32,
    windows_failed: u32,
    /// The first slice in which anything selected ended, be it in the warm-up.
    first_ended: Option<u32>,
    /// It is known when the load began.
    knows_load: bool,
    failing_seconds: u32,
    certain: bool,
    /// Readings of the signal; of a counter its growth per second from one reading to the next.
    points: Vec<SignalPoint>,
    /// The previous reading, of a counter.
    counted: Option<SignalPoint>,
}

/// The window being filled. Seconds are counted by slices.
#[derive(Debug, Clone, Copy)]
struct OpenWindow {
    first_slice: u32,
    /// Last slice that held anything.
    last_slice: u32,
}

/// Which seconds form windows, where it is known when the load began and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edges {
    /// All in which there was anything.
    Any,
    /// Those of the load. The first may be a part of one: its window can hold, but not fail.
    LoadOnly,
    /// Those of the load that are whole.
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
            counted: None,
        }
    }

    pub(super) fn threshold(&self) -> &Threshold {
        &self.threshold
    }

    /// Returns true when the slice has made the failure certain. `load`: of what the threshold selects.
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
                    // In the second in which the first one ends, none could end before it.
                    Edges::WholeOnly => {
                        samples.count > 0 && (load.began.is_none() || load.covers(slice) && self.first_ended != Some(slice.slice))
                    }
                };
                if fills {
                    self.push_window(slice, load, seconds.max(1));
                }
            }
        }
        let now = !self.certain && self.is_certain();
        self.certain |= now;
        now
    }

    /// Windows follow back to back from the first slice that holds anything the selector picks. A window is judged when a later one
    /// begins to fill, so that seconds after the last such slice never count as empty windows.
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

    /// What the edges of the load do to a window: a part of a second can hold too little, never too much.
    fn edges(&self) -> Edges {
        let is_upper = matches!(self.threshold.bound.comparison, Comparison::Below | Comparison::AtMost);
        match self.threshold.aggregate {
            Aggregate::Rate if !self.threshold.metric.rate_is_share() => Edges::WholeOnly,
            Aggregate::Count if !is_upper => Edges::LoadOnly,
            _ => Edges::Any,
        }
    }

    fn judge_window(&mut self, open: OpenWindow, seconds: f64) {
        let measured = self.samples.measure(&self.threshold.metric, self.threshold.aggregate, Some(seconds));
        // Times of a window in which nothing ended say nothing; counts and rates of it are zero.
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

    /// The run is over: judges the last window if it is at least half full. A count in it can only be judged against
    /// an upper bound, since the missing seconds could only have added to it.
    ///
    /// A signal with a label that never showed up while others of the same metric did (no session ever waited for that lock) was zero.
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

    /// Whether the bound holds; `None` without data or when a lower bound on the value leaves it open.
    fn holds(&self, measured: MeasuredValue) -> Option<bool> {
        let bound = self.threshold.bound;
        match measured {
            MeasuredValue::Value(value) => Some(bound.holds(value)),
            MeasuredValue::NoData => None,
            // The value is this or more. Towards "below" that is a failure already when the bound is not above it; a bound beyond
            // the longest wait cannot be shown to hold either, so it fails.
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
        self.samples.measure(&self.threshold.metric, self.threshold.aggregate, None)
    }

    /// Samples that a threshold on times rests on; `None` for what is not a time.
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

    /// Enough that a failing value is not an accident of the first few requests.
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
            // A count only ever grows, and so does a maximum; a minimum only ever falls.
            (_, Aggregate::Max) => failing && (upper || (equals && self.exceeds())),
            (_, Aggregate::Count) => failing && (upper || (equals && self.exceeds())),
            (_, Aggregate::Min) => failing && (!upper && !equals || (equals && !self.exceeds())),
            // One is enough against "all" and against "none".
            (Metric::PassedChecks, Aggregate::Rate) if !upper && bound.value >= 1.0 => failing,
            (Metric::PassedChecks, Aggregate::Rate) => self.failing_seconds >= FAILING_SECONDS,
            (metric, Aggregate::Rate) if metric.rate_is_share() && (upper || equals) && bound.value == 0.0 => failing,
            // The last value may be another one yet.
            (_, Aggregate::Last) => false,
            // A throughput can still be reached later.
            (metric, Aggregate::Rate) if !metric.rate_is_share() && !upper => false,
            _ => self.failing_seconds >= FAILING_SECONDS,
        }
    }

    fn exceeds(&self) -> bool {
        matches!(self.measured(), MeasuredValue::Value(value) | MeasuredValue::AtLeast(value) if value > self.threshold.bound.value)
    }

    /// Returns true when the points have made the failure certain.
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
                        let growth = self.counted.replace(*point).and_then(|before| point.growth_since(&before));
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

    /// `ended`: no slice follows, and a threshold that is not failed has passed. `interval`: 95 % interval of a percentile over
    /// the whole run.
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
            None if ended => ThresholdState::NoData,
            _ => ThresholdState::Pending,
        };
        let failing = state == ThresholdState::Pending && worst.as_ref().is_some_and(|worst| !worst.holds);
        let is_window = self.threshold.window != Window::WholeRun;
        let value = worst.as_ref().and_then(|worst| match worst.measured {
            MeasuredValue::Value(value) | MeasuredValue::AtLeast(value) => Some(value),
            MeasuredValue::NoData => None,
        });
        let detail = match &worst {
            Some(worst) => {
                let windows = (self.windows_failed, self.windows_judged);
                let text = wording::detail(&self.threshold, worst, interval, windows, self.samples.is_cut_off());
                if ended { text } else { wording::so_far(&text, state, failing) }
            }
            None => String::from("nothing measured yet"),
        };
        ThresholdResult {
            threshold: self.threshold.clone(),
            state,
            measured: value,
            failing,
            at_seconds: worst.filter(|_| is_window).map(|worst| worst.at_seconds),
            detail,
        }
    }

    /// A count of nothing is zero only where something could have been counted: a selector that fits no series has no data. Scripts that never ended
    /// an iteration have thrown no errors.
    fn whole_run_holds(&self, measured: MeasuredValue, ended: bool) -> Option<bool> {
        let is_known = match self.threshold.metric {
            Metric::Signal { .. } => true,
            Metric::ScriptErrors => self.threshold.selector.scenario.is_none(),
            // Nothing was added to it.
            Metric::Own { kind: MetricKind::Counter, .. } => self.threshold.aggregate == Aggregate::Count,
            _ => false,
        };
        let nothing = !self.samples.any() && !is_known;
        if nothing && (ended || self.threshold.aggregate != Aggregate::Count) { None } else { self.holds(measured) }
    }

    /// Back-to-back windows over a signal's points.
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
