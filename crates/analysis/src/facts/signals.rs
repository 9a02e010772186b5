//! The system's own signals, by their roles. Facts and rules find evidence by [`Role`] and never by name. An observer of another database or runtime only has
//! to assign roles to its signals.

use std::collections::BTreeMap;

use loadstone_metrics::{Role, SignalKind};
use loadstone_run_directory::SignalSeries;

use super::readings::SignalReadings;

/// The subject of signals: an observer, and the part of what it observes, if they describe only one: a pool, a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObservedPart<'a> {
    pub(crate) observer: &'a str,
    /// Empty: everything that it observes.
    pub(crate) part: &'a str,
}

impl<'a> ObservedPart<'a> {
    /// The part, such as a pool, a device or a queue; the observer if there is none.
    pub(crate) fn name(self) -> &'a str {
        if self.part.is_empty() { self.observer } else { self.part }
    }
}

/// All signals of a run.
pub(crate) struct ObservedSignals<'a> {
    all: &'a [SignalSeries],
    /// The signals of one role and part, sorted by name.
    by_role: BTreeMap<(Role, ObservedPart<'a>), Vec<&'a SignalSeries>>,
}

impl<'a> ObservedSignals<'a> {
    pub(crate) fn of(all: &'a [SignalSeries]) -> Self {
        let mut by_role: BTreeMap<(Role, ObservedPart<'a>), Vec<&SignalSeries>> = BTreeMap::new();
        for series in all {
            let signal = &series.signal;
            if let Some(role) = signal.role {
                by_role.entry((role, ObservedPart { observer: &signal.observer, part: &signal.part })).or_default().push(series);
            }
        }
        by_role.values_mut().for_each(|group| group.sort_by(|a, b| a.signal.name.cmp(&b.signal.name)));
        Self { all, by_role }
    }

    /// The subjects with a signal of this role, in alphabetical order: `CallsInFlight` finds the stubs, `DiskBusy` the disks.
    pub(crate) fn parts_with(&self, role: Role) -> impl Iterator<Item = ObservedPart<'a>> + '_ {
        self.by_role.keys().filter(move |(found, _)| *found == role).map(|(_, part)| *part)
    }

    /// The readings of one role. The first by name where several signals have it; `None` where none does.
    pub(crate) fn read(&self, part: ObservedPart<'a>, role: Role) -> Option<SignalReadings<'a>> {
        self.by_role.get(&(role, part))?.first().map(|series| SignalReadings::of(series))
    }

    /// The readings of all signals of one role, which differ by their labels.
    pub(crate) fn read_each(&self, part: ObservedPart<'a>, role: Role) -> Vec<SignalReadings<'a>> {
        self.by_role.get(&(role, part)).into_iter().flatten().map(|series| SignalReadings::of(series)).collect()
    }

    /// The sum of the signals with the metric of [`Self::read`], which differ by their labels: one for each worker.
    pub(crate) fn read_whole(&self, part: ObservedPart<'a>, role: Role) -> Option<SignalReadings<'a>> {
        let group = self.by_role.get(&(role, part))?;
        let metric = group.first()?.signal.metric();
        let same: Vec<SignalReadings<'a>> =
            group.iter().filter(|series| series.signal.metric() == metric).map(|series| SignalReadings::of(series)).collect();
        SignalReadings::sum(&same)
    }

    /// `None`: no such signal, or no reading in that stretch.
    pub(crate) fn mean(&self, part: ObservedPart<'a>, role: Role, from: f64, to: f64) -> Option<f64> {
        self.read(part, role)?.mean(from, to)
    }

    /// How often an observer was read in a stretch: the readings of the signal with the most of them.
    pub(crate) fn readings_of(&self, observer: &str, from: f64, to: f64) -> usize {
        let is_inside = |at: u64| (from..=to).contains(&(at as f64 / 1e9));
        let of_observer = self.all.iter().filter(|series| series.signal.observer == observer);
        of_observer.map(|series| series.points.iter().filter(|point| is_inside(point.at)).count()).max().unwrap_or(0)
    }

    /// Gauges of any role that had one value throughout a stretch, sorted by name.
    pub(crate) fn steady_at(&self, value: f64, from: f64, to: f64) -> Vec<SignalReadings<'a>> {
        let gauges = self.all.iter().filter(|series| series.signal.kind == SignalKind::Gauge).map(SignalReadings::of);
        let is_constant = |readings: &SignalReadings<'_>| {
            readings.count(from, to) >= 3 && readings.share(from, to, |read| (read - value).abs() < 1e-9) == Some(1.0)
        };
        let mut found: Vec<SignalReadings<'_>> = gauges.filter(is_constant).collect();
        found.sort_by(|a, b| a.signal.name.cmp(&b.signal.name));
        found
    }
}
