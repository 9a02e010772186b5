//! What one observer has read since its last batch.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::{FlowEvent, Nanos, Signal, SignalKind, SignalPoint};

/// Series that one observer may make; the rest are refused and counted, so that no exporter can fill a run.
pub(crate) const SERIES_MAX: usize = 2_000;

/// A signal and one reading of it.
pub(crate) type Point = (Arc<Signal>, SignalPoint);

pub(crate) struct Readings {
    observer: String,
    /// The instant that the present reading is stamped with.
    at: Nanos,
    series: HashMap<String, Arc<Signal>>,
    points: Vec<Point>,
    refused: u64,
    /// Instants are relative: how long before the reading it happened. Nanoseconds.
    journeys: Vec<FlowEvent>,
}

impl Readings {
    pub(crate) fn new(observer: &str) -> Self {
        Self { observer: observer.to_owned(), at: 0, series: HashMap::new(), points: Vec::new(), refused: 0, journeys: Vec::new() }
    }

    /// Begins a reading at this instant.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.at = at;
        self.points.clear();
        self.journeys.clear();
    }

    /// Ends it: the points, stamped with the middle between its begin and `now`.
    pub(crate) fn finish(&mut self, now: Nanos) -> Vec<Point> {
        let middle = self.at + now.saturating_sub(self.at) / 2;
        let mut points = std::mem::take(&mut self.points);
        points.iter_mut().for_each(|(_, point)| point.at = middle);
        points
    }

    /// Something happened to a journey, `event.at` nanoseconds before this reading.
    pub(crate) fn journey(&mut self, event: FlowEvent) {
        self.journeys.push(event);
    }

    /// What happened to journeys, on the clock of a reading that was stamped with `read_at`.
    pub(crate) fn take_journeys(&mut self, read_at: Nanos) -> impl Iterator<Item = FlowEvent> + '_ {
        self.journeys.drain(..).map(move |event| FlowEvent { at: read_at.saturating_sub(event.at), ..event })
    }

    pub(crate) fn gauge(&mut self, metric: &str, unit: &str, help: &str, value: f64) {
        self.push(SignalKind::Gauge, metric, unit, help, value);
    }

    pub(crate) fn counter(&mut self, metric: &str, unit: &str, help: &str, total: f64) {
        self.push(SignalKind::Counter, metric, unit, help, total);
    }

    /// `metric` may carry a label: `sessions{wait=Lock:tuple}`.
    pub(crate) fn push(&mut self, kind: SignalKind, metric: &str, unit: &str, help: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        let signal = match self.series.get(metric) {
            Some(signal) => Arc::clone(signal),
            None if self.series.len() >= SERIES_MAX => {
                self.refused += 1;
                return;
            }
            None => {
                let name = format!("{}/{metric}", self.observer);
                let signal = Signal {
                    name,
                    observer: self.observer.clone(),
                    kind,
                    unit: unit.to_owned(),
                    help: help.to_owned(),
                    ..Signal::default()
                };
                let signal = Arc::new(signal);
                self.series.insert(metric.to_owned(), Arc::clone(&signal));
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

/// A text fit for a label: no braces, no line breaks, at most 120 characters.
pub(crate) fn label(text: &str) -> String {
    let clean = text.chars().map(|c| match c {
        '{' => '(',
        '}' => ')',
        c if c.is_control() => ' ',
        c => c,
    });
    clean.take(120).collect()
}
