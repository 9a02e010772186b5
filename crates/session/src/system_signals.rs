//! Collects what observers and stubs read of the system, once a second, under names that may be shown.

use std::collections::HashMap;

use loadstone_metrics::clock::Monotonic;
use loadstone_metrics::span::TraceBatch;
use loadstone_metrics::{FlowEvent, Mark, MarkKind, Signal, SignalBatch, SignalNotice};
use loadstone_observe::{Observation, ObserveError, Observer};
use loadstone_plan::TestPlan;
use loadstone_run_directory::SignalSeries;
use loadstone_secrets::Secrets;

/// Reads signals while the load runs.
pub(crate) trait SignalSource {
    /// The run's time begins.
    fn begin(&mut self, zero: Monotonic);
    /// Returns what was read since the last call, without waiting.
    fn take(&mut self) -> Vec<SignalBatch>;
    /// Stops reading and returns what had not been taken.
    fn finish(self: Box<Self>) -> Vec<SignalBatch>;
}

impl SignalSource for Observation {
    fn begin(&mut self, zero: Monotonic) {
        Observation::begin(self, zero);
    }

    fn take(&mut self) -> Vec<SignalBatch> {
        Observation::take(self).collect()
    }

    fn finish(self: Box<Self>) -> Vec<SignalBatch> {
        self.stop()
    }
}

/// For [`loadstone_script::Inputs::check_observer`]: errors of `observe.KIND(…)` at the line where it stands.
pub fn check_observer(description: &serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
    Ok(Observer::check(description)?)
}

/// The observers that a plan declares.
///
/// # Errors
/// [`ObserveError`] names the option that is wrong; it may quote secrets of the plan.
pub fn observers(plan: &TestPlan) -> Result<Vec<Observer>, ObserveError> {
    plan.observers.iter().map(Observer::from_description).collect()
}

/// All sources of one run. Names and messages come out without secrets.
pub(crate) struct SystemSignals {
    sources: Vec<Box<dyn SignalSource>>,
    secrets: Secrets,
    /// Signals as they may be shown, by the name they were read under.
    known: HashMap<String, Signal>,
}

/// What was read since the last time.
#[derive(Debug, Default)]
pub(crate) struct FreshReadings {
    pub(crate) series: Vec<SignalSeries>,
    pub(crate) notices: Vec<SignalNotice>,
    /// What observers learnt of journeys; [`FlowTracking`](crate::flow_tracking::FlowTracking) takes it.
    pub(crate) flow_events: Vec<FlowEvent>,
    /// Without the names of requests, which [`TraceNames`](crate::trace_names::TraceNames) has.
    pub(crate) traces: TraceBatch,
}

impl FreshReadings {
    /// The notices as marks.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        self.notices.iter().map(|notice| Mark { at: notice.at, kind: MarkKind::Warning, text: notice.message.clone() })
    }
}

impl SystemSignals {
    /// Prepares the observers; further sources are added with [`SystemSignals::add`].
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn prepare(secrets: &Secrets, observers: Vec<Observer>) -> Result<Self, ObserveError> {
        let mut signals = Self { sources: Vec::new(), secrets: secrets.clone(), known: HashMap::new() };
        if !observers.is_empty() {
            signals.add(Observation::prepare(observers)?);
        }
        Ok(signals)
    }

    pub(crate) fn add(&mut self, source: impl SignalSource + 'static) {
        self.sources.push(Box::new(source));
    }

    /// All sources begin to read, on the run's clock.
    pub(crate) fn begin(&mut self, zero: Monotonic) {
        self.sources.iter_mut().for_each(|source| source.begin(zero));
    }

    /// What was read since the last call.
    pub(crate) fn take(&mut self) -> FreshReadings {
        let batches = self.sources.iter_mut().flat_map(|source| source.take()).collect();
        self.shown(batches)
    }

    /// Stops all sources; what had not been taken.
    pub(crate) fn finish(&mut self) -> FreshReadings {
        let batches = std::mem::take(&mut self.sources).into_iter().flat_map(SignalSource::finish).collect();
        self.shown(batches)
    }

    /// Points of one signal together, in the order in which signals were first seen.
    fn shown(&mut self, batches: Vec<SignalBatch>) -> FreshReadings {
        let mut readings = FreshReadings::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        for batch in batches {
            for (signal, point) in batch.points {
                let place = match places.get(&signal.name) {
                    Some(place) => *place,
                    None => {
                        places.insert(signal.name.clone(), readings.series.len());
                        let signal = self.known.entry(signal.name.clone()).or_insert_with(|| signal.hiding(&self.secrets)).clone();
                        readings.series.push(SignalSeries { signal, points: Vec::new() });
                        readings.series.len() - 1
                    }
                };
                readings.series[place].points.push(point);
            }
            readings.flow_events.extend(batch.flow_events);
            readings.traces.append(batch.traces);
            readings.notices.extend(batch.notices.iter().map(|notice| notice.hiding(&self.secrets)));
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loadstone_metrics::{NoticeKind, SignalKind, SignalPoint};

    use super::*;

    struct Once(Vec<SignalBatch>);

    impl SignalSource for Once {
        fn begin(&mut self, _: Monotonic) {}

        fn take(&mut self) -> Vec<SignalBatch> {
            std::mem::take(&mut self.0)
        }

        fn finish(self: Box<Self>) -> Vec<SignalBatch> {
            self.0
        }
    }

    fn batch(metric: &str, at: u64) -> SignalBatch {
        let signal = Signal::new("shop", metric, SignalKind::Gauge, loadstone_metrics::unit::COUNT).help("of http://app:hunter2@host/");
        let observer: Arc<str> = "shop".into();
        let message = "cannot reach http://app:hunter2@host/".to_owned();
        let notice = SignalNotice { observer: Arc::clone(&observer), at, kind: NoticeKind::Failed, message };
        SignalBatch {
            observer,
            points: vec![(Arc::new(signal), SignalPoint { at, value: at as f64 })],
            notices: vec![notice],
            flow_events: Vec::new(),
            traces: TraceBatch::default(),
        }
    }

    #[test]
    fn several_sources_become_series_without_secrets() {
        let mut signals = SystemSignals { sources: Vec::new(), secrets: Secrets::default(), known: HashMap::new() };
        signals.add(Once(vec![batch("a", 1), batch("b", 1), batch("a", 2)]));
        signals.add(Once(vec![batch("c", 3)]));
        let readings = signals.take();
        let seen: Vec<(&str, usize)> = readings.series.iter().map(|series| (series.signal.name.as_str(), series.points.len())).collect();
        assert_eq!(seen, [("shop/a", 2), ("shop/b", 1), ("shop/c", 1)]);
        assert_eq!(readings.series[0].signal.help, "of http://app:•••@host/");
        let marks: Vec<Mark> = readings.marks().collect();
        assert_eq!((marks.len(), marks[3].at, marks[3].text.as_str()), (4, 3, "cannot reach http://app:•••@host/"));
        assert!(signals.finish().series.is_empty());
    }
}
