//! Converts an observer's readings into signals and points.
//!
//! Read [`MetricSpec`] first: an observer declares its metrics as constants of this type, so that name, unit and role are in one place.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{FlowEvent, Nanos, NoticeKind, Role, Signal, SignalKind, SignalPoint};

/// Series that one observer may create. Further ones are refused and counted, so that no exporter can fill a run.
pub(crate) const SERIES_MAX: usize = 2_000;

/// A signal and one reading of it.
pub(crate) type SignalReading = (Arc<Signal>, SignalPoint);

/// Everything about a metric except its labels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetricSpec<'a> {
    name: &'a str,
    kind: SignalKind,
    /// One of [`loadstone_metrics::unit`].
    unit: &'a str,
    /// One line for people.
    help: &'a str,
    role: Option<Role>,
    part: &'a str,
}

impl<'a> MetricSpec<'a> {
    pub(crate) const fn new(kind: SignalKind, name: &'a str, unit: &'a str, help: &'a str) -> Self {
        Self { name, kind, unit, help, role: None, part: "" }
    }

    /// A level.
    pub(crate) const fn gauge(name: &'a str, unit: &'a str, help: &'a str) -> Self {
        Self::new(SignalKind::Gauge, name, unit, help)
    }

    /// A monotonic total, which is shown as its rate.
    pub(crate) const fn counter(name: &'a str, unit: &'a str, help: &'a str) -> Self {
        Self::new(SignalKind::Counter, name, unit, help)
    }

    /// What the metric means, independent of the kind of observer.
    pub(crate) const fn role(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    /// The pool, device or queue that the metric describes.
    pub(crate) const fn part(mut self, part: &'a str) -> Self {
        self.part = part;
        self
    }

    /// As a signal of an observer. A label without a value is a tag.
    fn signal(self, observer: &str, labels: &[(&str, Option<&str>)]) -> Signal {
        let plain = Signal::new(observer, self.name, self.kind, self.unit).help(self.help).role(self.role).part(self.part);
        labels.iter().fold(plain, |signal, (name, value)| match value {
            Some(value) => signal.label(name, value),
            None => signal.tag(name),
        })
    }
}

/// What one observer has read since its last batch.
pub(crate) struct SignalCollector {
    observer: String,
    /// The timestamp of the current reading.
    at: Nanos,
    /// By metric and labels as they stand in the name.
    series: HashMap<String, Arc<Signal>>,
    points: Vec<SignalReading>,
    refused: u64,
    /// Instants are relative: how long before the reading ended it happened. Nanoseconds.
    journeys: Vec<FlowEvent>,
    traces: TraceBatch,
    /// Remarks and warnings about the readings.
    notices: Vec<(NoticeKind, String)>,
}

impl SignalCollector {
    pub(crate) fn new(observer: &str) -> Self {
        Self {
            observer: observer.to_owned(),
            at: 0,
            series: HashMap::new(),
            points: Vec::new(),
            refused: 0,
            journeys: Vec::new(),
            traces: TraceBatch::default(),
            notices: Vec::new(),
        }
    }

    /// Begins a reading at this instant.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.at = at;
        self.points.clear();
        self.journeys.clear();
    }

    /// Ends the reading and returns its points, with the middle between its begin and `now` as their timestamp.
    pub(crate) fn finish(&mut self, now: Nanos) -> Vec<SignalReading> {
        let middle = self.at + now.saturating_sub(self.at) / 2;
        let mut points = std::mem::take(&mut self.points);
        points.iter_mut().for_each(|(_, point)| point.at = middle);
        points
    }

    /// The timestamp of the current reading, until it ends.
    pub(crate) fn at(&self) -> Nanos {
        self.at
    }

    /// Adds traces of the run.
    pub(crate) fn traces(&mut self, batch: TraceBatch) {
        self.traces.append(batch);
    }

    pub(crate) fn take_traces(&mut self) -> TraceBatch {
        std::mem::take(&mut self.traces)
    }

    /// Adds a notice about the readings. The observer's name is prefixed.
    pub(crate) fn notice(&mut self, kind: NoticeKind, what: String) {
        self.notices.push((kind, what));
    }

    pub(crate) fn take_notices(&mut self) -> Vec<(NoticeKind, String)> {
        std::mem::take(&mut self.notices)
    }

    /// Something happened to a journey, `event.at` nanoseconds before this reading ends.
    pub(crate) fn journey(&mut self, event: FlowEvent) {
        self.journeys.push(event);
    }

    /// The journeys' events, on the clock of a reading that ended at `end`.
    pub(crate) fn take_journeys(&mut self, end: Nanos) -> impl Iterator<Item = FlowEvent> + '_ {
        self.journeys.drain(..).map(move |event| FlowEvent { at: end.saturating_sub(event.at), ..event })
    }

    /// A reading of a metric without labels.
    pub(crate) fn put(&mut self, metric: MetricSpec<'_>, value: f64) {
        self.put_described(metric, &[], value, std::convert::identity);
    }

    /// A reading of one series of a metric. Values of labels that come from outside go through [`label`].
    pub(crate) fn put_labelled(&mut self, metric: MetricSpec<'_>, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<(&str, Option<&str>)> = labels.iter().map(|(name, value)| (*name, Some(*value))).collect();
        self.put_described(metric, &labels, value, std::convert::identity);
    }

    /// The same, where labels may lack a value; `describe` adds to the signal when it is first seen. A value that is not finite is
    /// left out.
    pub(crate) fn put_described(
        &mut self,
        metric: MetricSpec<'_>,
        labels: &[(&str, Option<&str>)],
        value: f64,
        describe: impl FnOnce(Signal) -> Signal,
    ) {
        if !value.is_finite() {
            return;
        }
        let mut key = metric.name.to_owned();
        for (name, value) in labels {
            // Writing to a string does not fail. Names and values hold no braces, so keys of different series differ.
            let _ = write!(key, "{{{name}={}", value.unwrap_or("{"));
        }
        let signal = match self.series.get(&key) {
            Some(signal) => Arc::clone(signal),
            None if self.series.len() >= SERIES_MAX => {
                self.refused += 1;
                return;
            }
            None => {
                let signal = Arc::new(describe(metric.signal(&self.observer, labels)));
                self.series.insert(key, Arc::clone(&signal));
                signal
            }
        };
        self.points.push((signal, SignalPoint { at: self.at, value }));
    }

    /// Readings refused so far because of the bound on series.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

/// A string that is valid as a label: no braces, no line breaks, at most 120 characters.
pub(crate) fn label(text: &str) -> String {
    let clean = text.chars().map(|c| match c {
        '{' => '(',
        '}' => ')',
        c if c.is_control() => ' ',
        c => c,
    });
    clean.take(120).collect()
}
