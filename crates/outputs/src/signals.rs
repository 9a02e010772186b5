//! The system's signals: their labels, their latest values, and the growth of their counters.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadstone_metrics::{Nanos, Signal, SignalKind, SignalPoint};

use crate::family::{FamilyKind, FamilyUnit, MetricFamily, PointLabels, PointValue};

/// A level without a reading for this time is no longer sent. Observers with longer periods show gaps.
const LEVEL_KEPT_NS: u64 = 60_000_000_000;

/// All signals of a run so far, by name.
#[derive(Debug, Default)]
pub(crate) struct SignalTotals(BTreeMap<String, SignalState>);

#[derive(Debug)]
pub(crate) struct SignalState {
    pub(crate) kind: SignalKind,
    pub(crate) labels: PointLabels,
    last: SignalPoint,
    /// For a counter: its growth since the first reading.
    grown: f64,
    /// For a counter: its growth per second since the previous reading.
    per_second: Option<f64>,
}

impl SignalState {
    /// The value for a chart of single readings: the level, or a counter's growth per second.
    pub(crate) fn shown(&self) -> Option<f64> {
        let shown = match self.kind {
            SignalKind::Gauge => Some(self.last.value),
            SignalKind::Counter => self.per_second,
        };
        shown.filter(|value| value.is_finite())
    }

    fn read(&mut self, point: SignalPoint) {
        self.per_second = point.growth_since(&self.last);
        // A counter that decreased was reset.
        self.grown += if point.value >= self.last.value { point.value - self.last.value } else { point.value };
        self.last = point;
    }
}

impl SignalTotals {
    pub(crate) fn add(&mut self, signal: &Signal, point: SignalPoint) {
        match self.0.get_mut(&signal.name) {
            Some(state) => state.read(point),
            None => {
                let state = SignalState { kind: signal.kind, labels: labels(signal), last: point, grown: 0.0, per_second: None };
                self.0.insert(signal.name.clone(), state);
            }
        }
    }

    pub(crate) fn get(&self, signal: &Signal) -> Option<&SignalState> {
        self.0.get(&signal.name)
    }

    /// `now`: end of the last second.
    pub(crate) fn families(&self, now: Nanos) -> [MetricFamily<'_>; 2] {
        let of = |kind| self.0.values().filter(move |state| state.kind == kind);
        let is_kept = |state: &&SignalState| state.last.at + LEVEL_KEPT_NS >= now && state.last.value.is_finite();
        let levels = of(SignalKind::Gauge).filter(is_kept).map(|state| (state.labels.clone(), PointValue::Number(state.last.value)));
        let counters = of(SignalKind::Counter).filter(|state| state.grown.is_finite());
        let counters = counters.map(|state| (state.labels.clone(), PointValue::Number(state.grown)));
        let family = |stem, help, kind, points| MetricFamily { stem, help, kind, unit: FamilyUnit::One, points };
        [
            family("signal", "Level that an observer has read.", FamilyKind::Gauge, levels.collect()),
            family("signal_counter", "Growth of a counter since an observer first read it.", FamilyKind::Counter, counters.collect()),
        ]
    }
}

/// `observer`, `signal`, `series` (if several have the same name) and `unit`.
fn labels(signal: &Signal) -> PointLabels {
    let name = signal.name.strip_prefix(&*signal.observer).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&signal.name);
    let (metric, series) = match name.strip_suffix('}').and_then(|name| name.split_once('{')) {
        Some((metric, series)) => (metric, Some(series)),
        None => (name, None),
    };
    let label = |name, value: &str| (name, Arc::from(value));
    let mut labels = vec![label("observer", &signal.observer), label("signal", metric)];
    labels.extend(series.map(|series| label("series", series)));
    labels.push(label("unit", &signal.unit));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(metric: &str, kind: SignalKind) -> Signal {
        Signal::new("shop: a/b", metric, kind, loadstone_metrics::unit::BYTES)
    }

    fn values(signals: &SignalTotals, now: Nanos) -> Vec<f64> {
        let points = signals.families(now).into_iter().flat_map(|family| family.points);
        points.map(|(_, value)| if let PointValue::Number(number) = value { number } else { f64::NAN }).collect()
    }

    #[test]
    fn a_name_falls_into_its_labels() {
        let labels_of = |signal: Signal| labels(&signal).iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let heap = || signal("heap", SignalKind::Gauge);
        assert_eq!(labels_of(heap()), ["observer=shop: a/b", "signal=heap", "unit=bytes"]);
        assert_eq!(labels_of(heap().label("space", "new"))[1..3], ["signal=heap", "series=space=new"]);
        assert_eq!(labels_of(Signal { name: "other/x".to_owned(), ..heap() })[1], "signal=other/x");
    }

    #[test]
    fn counters_grow_from_their_first_reading_also_when_they_begin_anew() {
        let mut signals = SignalTotals::default();
        let counter = signal("sent", SignalKind::Counter);
        for (at, value) in [(1, 100.0), (2, 150.0), (4, 10.0), (6, 30.0)] {
            signals.add(&counter, SignalPoint { at: at * 1_000_000_000, value });
        }
        assert_eq!(values(&signals, 0), [50.0 + 10.0 + 20.0]);
        assert_eq!(signals.get(&counter).unwrap().shown(), Some(10.0));
    }

    #[test]
    fn a_level_that_nobody_reads_any_more_is_a_gap() {
        let mut signals = SignalTotals::default();
        signals.add(&signal("heap", SignalKind::Gauge), SignalPoint { at: 1, value: 7.0 });
        assert_eq!(values(&signals, LEVEL_KEPT_NS), [7.0]);
        assert!(values(&signals, LEVEL_KEPT_NS + 2).is_empty());
    }
}
