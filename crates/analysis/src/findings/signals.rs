//! The system's own signals as the rules look at them: by name, over a stretch of time.

use std::collections::{BTreeSet, HashMap};

use metrics::SignalKind;
use run_directory::{Run, SignalSeries};

use crate::interval::student_t;

/// All signals of a run. Names end as observers make them; their observers may be called anything.
pub(crate) struct Signals<'a> {
    by_name: HashMap<&'a str, &'a SignalSeries>,
    observers: BTreeSet<&'a str>,
}

/// Readings of one signal; of a counter its growth per second. `(seconds since the run began, value)`, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readings {
    pub(crate) name: String,
    points: Vec<(f64, f64)>,
}

impl<'a> Signals<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        Self {
            by_name: run.signals.iter().map(|series| (series.signal.name.as_str(), series)).collect(),
            observers: run.signals.iter().map(|series| series.signal.observer.as_str()).collect(),
        }
    }

    /// Observers that have a signal of this metric: `in_flight_max` finds the stubs, `blocked` the databases.
    pub(crate) fn observers_with<'b>(&'b self, metric: &'b str) -> impl Iterator<Item = &'a str> + use<'a, 'b> {
        self.observers.iter().copied().filter(move |observer| self.by_name.contains_key(format!("{observer}/{metric}").as_str()))
    }

    /// `None`: never read.
    pub(crate) fn readings(&self, observer: &str, metric: &str) -> Option<Readings> {
        self.by_name.get(format!("{observer}/{metric}").as_str()).map(|series| Readings::of(series))
    }

    /// All labels of a metric: `("Lock:tuple", readings)` for `sessions{wait=Lock:tuple}` with `label` `wait`.
    pub(crate) fn labelled(&self, observer: &str, metric: &str, label: &str) -> Vec<(String, Readings)> {
        let start = format!("{observer}/{metric}{{{label}=");
        let mut found: Vec<(String, Readings)> = self
            .by_name
            .iter()
            .filter_map(|(name, series)| Some((name.strip_prefix(start.as_str())?.strip_suffix('}')?.to_owned(), Readings::of(series))))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// Gauges whose names, in lower case, fulfil a condition; by name.
    pub(crate) fn gauges(&self, wanted: impl Fn(&str) -> bool) -> Vec<Readings> {
        self.of_kind(SignalKind::Gauge, wanted)
    }

    /// The same for counters: their growth per second.
    pub(crate) fn counters(&self, wanted: impl Fn(&str) -> bool) -> Vec<Readings> {
        self.of_kind(SignalKind::Counter, wanted)
    }

    fn of_kind(&self, kind: SignalKind, wanted: impl Fn(&str) -> bool) -> Vec<Readings> {
        let chosen = self.by_name.iter().filter(|(name, series)| series.signal.kind == kind && wanted(&name.to_lowercase()));
        let mut found: Vec<Readings> = chosen.map(|(_, series)| Readings::of(series)).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Gauges that stood at one whole number throughout a stretch, by name.
    pub(crate) fn steady_at(&self, value: f64, from: f64, to: f64) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .by_name
            .values()
            .filter(|series| series.signal.kind == SignalKind::Gauge)
            .filter(|series| {
                let readings = Readings::of(series);
                readings.count(from, to) >= 3 && readings.share(from, to, |read| (read - value).abs() < 1e-9) == Some(1.0)
            })
            .map(|series| series.signal.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

impl Readings {
    pub(crate) fn of(series: &SignalSeries) -> Self {
        let at = |ns: u64| ns as f64 / 1e9;
        let points = match series.signal.kind {
            SignalKind::Gauge => series.points.iter().map(|point| (at(point.at), point.value)).collect(),
            SignalKind::Counter => {
                series.points.windows(2).filter_map(|pair| Some((at(pair[1].at), pair[1].growth_since(&pair[0])?))).collect()
            }
        };
        Self { name: series.signal.name.clone(), points }
    }

    pub(crate) fn between(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(move |(at, _)| *at >= from && *at <= to)
    }

    pub(crate) fn count(&self, from: f64, to: f64) -> usize {
        self.between(from, to).count()
    }

    /// Its values and those of another signal that were read at the same instants.
    pub(crate) fn beside(&self, other: &Self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let mut others = other.between(from, to).peekable();
        let together = self.between(from, to).filter_map(|(at, value)| {
            while others.next_if(|(earlier, _)| *earlier < at).is_some() {}
            others.next_if(|(same, _)| *same <= at).map(|(_, beside)| (value, beside))
        });
        together.collect()
    }

    /// `None` without readings in the stretch.
    pub(crate) fn mean(&self, from: f64, to: f64) -> Option<f64> {
        let count = self.count(from, to);
        (count > 0).then(|| self.between(from, to).map(|(_, value)| value).sum::<f64>() / count as f64)
    }

    /// The one value that all readings of the stretch have.
    pub(crate) fn steady(&self, from: f64, to: f64) -> Option<f64> {
        let (_, first) = self.between(from, to).next()?;
        (self.share(from, to, |value| (value - first).abs() < 1e-9) == Some(1.0)).then_some(first)
    }

    /// Share of the readings that fulfil a condition.
    pub(crate) fn share(&self, from: f64, to: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let count = self.count(from, to);
        (count > 0).then(|| self.between(from, to).filter(|(_, value)| holds(*value)).count() as f64 / count as f64)
    }
}

/// Mean and half of its 95 % interval, from the means of stretches of five values: neighbours in time resemble each other.
pub(crate) fn mean_of_batches(values: &[f64]) -> (f64, f64) {
    const BATCH: usize = 5;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let m = batches.len() as f64;
    if m < 3.0 {
        return (mean, f64::INFINITY);
    }
    let centre = batches.iter().sum::<f64>() / m;
    let variance = batches.iter().map(|batch| (batch - centre).powi(2)).sum::<f64>() / (m - 1.0);
    (mean, student_t(m - 1.0) * (variance / m).sqrt())
}
