//! Waiting for what observers say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{NoticeKind, Signal, SignalBatch};
use loadstone_observe::{Observation, Observer};
use serde_json::Value;

/// How long something that must happen may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Watch {
    observation: Observation,
    clock: Monotonic,
    /// Latest value of every signal.
    pub(crate) latest: HashMap<String, f64>,
    pub(crate) signals: HashMap<String, Arc<Signal>>,
    pub(crate) batches: Vec<SignalBatch>,
}

impl Watch {
    pub(crate) fn start(descriptions: &[Value]) -> Self {
        Self::of_run(0, descriptions)
    }

    /// Of the run whose traces begin with these 32 bits.
    pub(crate) fn of_run(run: u32, descriptions: &[Value]) -> Self {
        let mut observers: Vec<Observer> =
            descriptions.iter().map(|description| Observer::from_description(description).unwrap()).collect();
        observers.iter_mut().for_each(|observer| observer.joins_traces(run));
        let clock = Monotonic::start();
        let observation = Observation::start(observers, clock).unwrap();
        Self { observation, clock, latest: HashMap::new(), signals: HashMap::new(), batches: Vec::new() }
    }

    /// Stops the observation and returns all traces and notices.
    pub(crate) fn stop(mut self) -> (Vec<TraceBatch>, Vec<(NoticeKind, String)>) {
        self.batches.extend(self.observation.stop());
        let notices = self.batches.iter().flat_map(|batch| &batch.notices).map(|notice| (notice.kind, notice.message.clone())).collect();
        (self.batches.into_iter().map(|batch| batch.traces).collect(), notices)
    }

    /// Takes batches until `seen` holds.
    pub(crate) fn until(&mut self, what: &str, seen: impl Fn(&Self) -> bool) {
        let end = self.clock.now() + LIMIT.as_nanos() as u64;
        while !seen(self) {
            assert!(self.clock.now() < end, "{what} was never seen; last: {:?}; notices: {:?}", self.latest, self.notices());
            if let Some(batch) = self.observation.next(Duration::from_millis(200)) {
                for (signal, point) in &batch.points {
                    assert!(point.at <= self.clock.now());
                    self.latest.insert(signal.name.clone(), point.value);
                    self.signals.insert(signal.name.clone(), Arc::clone(signal));
                }
                self.batches.push(batch);
            }
        }
    }

    /// Takes batches until an observer has delivered so many that it read after this call.
    pub(crate) fn more(&mut self, observer: &str, count: usize) {
        let begin = self.clock.now();
        let fresh = |batch: &&SignalBatch| &*batch.observer == observer && batch.points.first().is_some_and(|(_, point)| point.at >= begin);
        self.until("a fresh batch", |watch| watch.batches.iter().filter(fresh).count() >= count);
    }

    pub(crate) fn value_if(&self, signal: &str) -> Option<f64> {
        self.latest.get(signal).copied()
    }

    pub(crate) fn value(&self, signal: &str) -> f64 {
        *self.latest.get(signal).unwrap_or_else(|| panic!("no signal {signal} in {:?}", self.latest))
    }

    /// Growth per second of a counter between the last two batches of an observer that have it.
    pub(crate) fn growth(&self, observer: &str, name: &str) -> Option<f64> {
        let batches = self.batches.iter().rev().filter(|batch| &*batch.observer == observer);
        let mut points = batches.flat_map(|batch| batch.points.iter().find(|(signal, _)| signal.name == name).map(|(_, point)| *point));
        let (last, before) = (points.next()?, points.next()?);
        last.growth_since(&before)
    }

    pub(crate) fn signal(&self, name: &str) -> &Signal {
        self.signals.get(name).unwrap_or_else(|| panic!("no signal {name} in {:?}", self.latest))
    }

    pub(crate) fn notices(&self) -> Vec<(NoticeKind, String)> {
        self.batches.iter().flat_map(|batch| &batch.notices).map(|notice| (notice.kind, notice.message.clone())).collect()
    }
}
