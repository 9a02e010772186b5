//! The readings of one signal over stretches of a run.

use metrics::{Signal, SignalKind};
use run_directory::SignalSeries;

/// Readings of one signal; of a counter its growth per second. `(seconds since the run began, value)`, in order.
#[derive(Debug, Clone)]
pub(crate) struct SignalReadings<'a> {
    pub(crate) signal: &'a Signal,
    points: Vec<(f64, f64)>,
}

impl<'a> SignalReadings<'a> {
    pub(crate) fn of(series: &'a SignalSeries) -> Self {
        let at = |ns: u64| ns as f64 / 1e9;
        let points = match series.signal.kind {
            SignalKind::Gauge => series.points.iter().map(|point| (at(point.at), point.value)).collect(),
            SignalKind::Counter => {
                series.points.windows(2).filter_map(|pair| Some((at(pair[1].at), pair[1].growth_since(&pair[0])?))).collect()
            }
        };
        Self { signal: &series.signal, points }
    }

    /// What evidence calls it.
    pub(crate) fn name(&self) -> String {
        self.signal.name.clone()
    }

    pub(crate) fn label(&self, label: &str) -> Option<&'a str> {
        self.signal.labels.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str())
    }

    pub(crate) fn between(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().copied().filter(move |(at, _)| *at >= from && *at <= to)
    }

    pub(crate) fn count(&self, from: f64, to: f64) -> usize {
        self.between(from, to).count()
    }

    /// Its values and those of another signal that were read at the same instants.
    pub(crate) fn beside(&self, other: &SignalReadings<'_>, from: f64, to: f64) -> Vec<(f64, f64)> {
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

    /// Share of the readings for which a condition holds; `None` without any.
    pub(crate) fn share(&self, from: f64, to: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let count = self.count(from, to);
        (count > 0).then(|| self.between(from, to).filter(|(_, value)| holds(*value)).count() as f64 / count as f64)
    }
}
