//! Thresholds: whether a run meets its objectives, during the run and afterwards.
//!
//! Read [`Thresholds`] first. One evaluation serves both: the final verdict is the live result after the last slice. docs/metrics.md has
//! the rules for windows, warm-up and aborting.

mod implied;
mod judge;
pub(crate) mod samples;
mod wording;

use std::collections::BTreeSet;

use loadstone_metrics::{Histogram, SeriesKey, Snapshot};
use loadstone_plan::{Aggregate, Metric, Threshold, Window};
use loadstone_run_directory::{Run, SignalSeries};

use crate::censored::CensoredTimes;
use crate::load_time::LoadTimes;
use crate::percentile::within_longest;
use crate::statistics::Intervals;
use crate::{ThresholdResult, ThresholdState};
pub(crate) use implied::implied;
use judge::Judge;

/// Evaluates the thresholds of a plan slice by slice.
#[derive(Debug)]
pub struct Thresholds {
    judges: Vec<Judge>,
    load_times: LoadTimes,
    known: BTreeSet<SeriesKey>,
    /// Names of signals, if a threshold refers to one; at most [`Thresholds::SIGNALS_MAX`].
    known_signals: BTreeSet<String>,
}

/// A threshold that has become certain to fail.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdFailure {
    /// Position in the plan.
    pub index: usize,
    pub result: ThresholdResult,
    /// The plan stops the run on this failure.
    pub abort: bool,
}

impl Thresholds {
    /// Maximum number of names listed if a selector matches nothing.
    const KNOWN_MAX: usize = 8;
    /// Maximum number of signal names that are kept for the list.
    const SIGNALS_MAX: usize = 2_000;

    pub fn new(thresholds: &[Threshold]) -> Self {
        Self {
            judges: thresholds.iter().cloned().map(Judge::new).collect(),
            load_times: LoadTimes::default(),
            known: BTreeSet::new(),
            known_signals: BTreeSet::new(),
        }
    }

    /// Takes one merged slice. Returns the thresholds that have become certain to fail with it.
    pub fn push(&mut self, slice: &Snapshot) -> Vec<ThresholdFailure> {
        for series in slice.series.iter().filter(|series| samples::is_known(series)) {
            if !self.known.contains(&series.key) {
                self.known.insert(series.key.clone());
            }
        }
        self.load_times.push(slice);
        let mut failures = Vec::new();
        for (index, judge) in self.judges.iter_mut().enumerate() {
            let load = self.load_times.of(judge.threshold().selector.scenario.as_deref());
            if judge.push(slice, load) {
                failures.push(ThresholdFailure { index, result: judge.result(false, None), abort: judge.threshold().abort });
            }
        }
        failures
    }

    /// Takes points of observer series. Returns the thresholds that have become certain to fail with them.
    pub fn push_signals(&mut self, batch: &[SignalSeries]) -> Vec<ThresholdFailure> {
        if !self.judges.iter().any(|judge| matches!(judge.threshold().metric, Metric::Signal { .. })) {
            return Vec::new();
        }
        for series in batch {
            if self.known_signals.len() < Self::SIGNALS_MAX && !self.known_signals.contains(&series.signal.name) {
                self.known_signals.insert(series.signal.name.clone());
            }
        }
        let mut failures = Vec::new();
        for (index, judge) in self.judges.iter_mut().enumerate() {
            if judge.push_signals(batch) {
                failures.push(ThresholdFailure { index, result: judge.result(false, None), abort: judge.threshold().abort });
            }
        }
        failures
    }

    /// The current results: `Failed` if certain, otherwise `Pending`, with the values so far.
    pub fn so_far(&self) -> Vec<ThresholdResult> {
        self.judges.iter().map(|judge| judge.result(false, None)).collect()
    }

    /// For each threshold on times, the number of samples without the warm-up. `None` for other metrics.
    pub(crate) fn samples(&self) -> Vec<Option<u64>> {
        self.judges.iter().map(Judge::samples_of_time).collect()
    }

    /// The verdict, when no slice follows.
    pub fn finish(self) -> Vec<ThresholdResult> {
        self.finish_with(|_| None)
    }

    fn finish_with(mut self, interval: impl Fn(&Threshold) -> Option<(f64, f64)>) -> Vec<ThresholdResult> {
        let verdict = |judge: &mut Judge| {
            judge.close(&self.known_signals);
            let mut result = judge.result(true, interval(judge.threshold()));
            if result.state == ThresholdState::NoData {
                result.detail = wording::no_data(judge.threshold(), &self.known, &self.known_signals, Self::KNOWN_MAX);
            }
            result
        };
        self.judges.iter_mut().map(verdict).collect()
    }
}

/// The verdict on a run.
pub fn evaluate(run: &Run) -> Vec<ThresholdResult> {
    judged(run).0
}

/// The verdict on a run, and [`Thresholds::samples`] at its end.
pub(crate) fn judged(run: &Run) -> (Vec<ThresholdResult>, Vec<Option<u64>>) {
    let mut thresholds = Thresholds::new(&run.plan.thresholds);
    for slice in &run.slices {
        thresholds.push(slice);
    }
    thresholds.push_signals(&run.signals);
    let samples = thresholds.samples();
    let shown = |threshold: &Threshold| {
        let found = times_of(run, threshold)?;
        let (low, high) = within_longest(found.interval(), Some(found.merged.max() as f64 / 1e9));
        low.zip(high)
    };
    (thresholds.finish_with(shown), samples)
}

/// The 95 % interval of a percentile of response or service times over the whole run. An end that the samples do not determine is `None`.
pub(crate) fn interval_of(run: &Run, threshold: &Threshold) -> Option<(Option<f64>, Option<f64>)> {
    times_of(run, threshold).map(|times| times.interval())
}

/// Times of the whole run of which a threshold names a percentile.
struct JudgedTimes<'a> {
    quantile: f64,
    seconds: Vec<Vec<&'a Histogram>>,
    merged: Histogram,
}

impl JudgedTimes<'_> {
    fn interval(&self) -> (Option<f64>, Option<f64>) {
        Intervals::of(&self.seconds, &self.merged).at(self.quantile)
    }
}

fn times_of<'a>(run: &'a Run, threshold: &'a Threshold) -> Option<JudgedTimes<'a>> {
    let (Aggregate::Quantile(quantile), Window::WholeRun) = (threshold.aggregate, threshold.window) else { return None };
    let is_service = threshold.metric == Metric::ServiceTime;
    if !samples::is_time(&threshold.metric) || matches!(threshold.metric, Metric::ScheduleLag | Metric::FlowTime { .. }) {
        return None;
    }
    let mut merged = Histogram::new();
    let mut seconds = Vec::new();
    for slice in run.slices.iter().filter(|slice| slice.slice >= threshold.after_seconds) {
        let mut second = Vec::new();
        for series in samples::selected(threshold, slice) {
            let times = if is_service { CensoredTimes::service(series) } else { CensoredTimes::response(series) };
            if !times.censored.is_empty() {
                return None;
            }
            merged.merge(times.ended);
            second.push(times.ended);
        }
        if !second.is_empty() {
            seconds.push(second);
        }
    }
    Some(JudgedTimes { quantile, seconds, merged })
}
