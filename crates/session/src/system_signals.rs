//! Collects the readings of observers and stubs once a second, with names masked.

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
    /// The run's time starts.
    fn begin(&mut self, zero: Monotonic);
    /// Returns the readings since the last call, without waiting.
    fn take(&mut self) -> Vec<SignalBatch>;
    /// Stops reading and returns the remaining readings.
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

/// For [`loadstone_script::Inputs::check_observer`]: reports errors of `observe.KIND(…)` at its line.
pub fn check_observer(description: &serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
    Ok(Observer::check(description)?)
}

/// The observers that a plan declares.
///
/// # Errors
/// [`ObserveError`] names the invalid option. It may contain secrets of the plan.
pub fn observers(plan: &TestPlan) -> Result<Vec<Observer>, ObserveError> {
    plan.observers.iter().map(Observer::from_description).collect()
}

/// All sources of one run. Names and messages are returned with secrets masked.
pub(crate) struct SystemSignals {
    sources: Vec<Box<dyn SignalSource>>,
    secrets: Secrets,
    /// Masked signals, by the name under which they were read.
    known: HashMap<String, Signal>,
}

/// Readings since the last time.
#[derive(Debug, Default)]
pub(crate) struct FreshReadings {
    pub(crate) series: Vec<SignalSeries>,
    pub(crate) notices: Vec<SignalNotice>,
    /// Journey events from observers. [`FlowTracking`](crate::flow_tracking::FlowTracking) uses them.
    pub(crate) flow_events: Vec<FlowEvent>,
    /// Without request names, which [`TraceNames`](crate::trace_names::TraceNames) adds.
    pub(crate) traces: TraceBatch,
}

impl FreshReadings {
    /// The notices as marks.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        self.notices.iter().map(|notice| Mark { at: notice.at, kind: MarkKind::Warning, text: notice.message.clone() })
    }
}

impl SystemSignals {
    /// Prepares the observers. Add other sources with [`SystemSignals::add`].
    ///
    /// # Errors
    /// No thread can be started.
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

    /// Starts all sources, on the run's clock.
    pub(crate) fn begin(&mut self, zero: Monotonic) {
        self.sources.iter_mut().for_each(|source| source.begin(zero));
    }

    /// Readings since the last call.
    pub(crate) fn take(&mut self) -> FreshReadings {
        let batches = self.sources.iter_mut().flat_map(|source| source.take()).collect();
        self.shown(batches)
    }

    /// Stops all sources. Returns the remaining readings.
    pub(crate) fn finish(&mut self) -> FreshReadings {
        let batches = std::mem::take(&mut self.sources).into_iter().flat_map(SignalSource::finish).collect();
        self.shown(batches)
    }

    /// Groups points by signal, in the order in which signals first appeared.
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
        let notice = SignalNotice::silence(&observer, at, NoticeKind::Failed, "cannot reach http://app:hunter2@host/".to_owned());
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
        assert_eq!((marks.len(), marks[3].at, marks[3].text.as_str()), (4, 3, "shop cannot read: cannot reach http://app:•••@host/"));
        assert_eq!(readings.notices[0].reason, "cannot reach http://app:•••@host/");
        assert!(signals.finish().series.is_empty());
    }
}
