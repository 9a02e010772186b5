//! Gathers the stored seconds of a long run, for a closer view.

use std::collections::HashSet;
use std::sync::Arc;

use loadstone_metrics::{SeriesKey, SeriesKind, SeriesSlice, SignalPoint, Snapshot};

use crate::{KeptFailure, KeptSecond, SignalSeries, Stretch};

/// Shorter stretches are only edges of the load among minutes.
const SECONDS_MIN: usize = 60;

/// Gathers stretches from ordered slices.
#[derive(Debug, Default)]
pub(crate) struct Stretches {
    stretches: Vec<Stretch>,
    names: HashSet<Arc<str>>,
}

impl Stretches {
    pub(crate) fn push(&mut self, slice: &Snapshot) {
        if slice.seconds() > 1 {
            return;
        }
        let second = outline(slice, &mut self.names);
        match self.stretches.last_mut().filter(|stretch| end(stretch) == Some(slice.slice)) {
            Some(stretch) => stretch.seconds.push(second),
            None => {
                self.close();
                self.stretches.push(Stretch { seconds: vec![second], signals: Vec::new() });
            }
        }
    }

    /// Readings are added after the slices.
    pub(crate) fn push_signal(&mut self, id: usize, series: &SignalSeries, point: SignalPoint) {
        let second = u32::try_from(point.at / 1_000_000_000).unwrap_or(u32::MAX);
        let Some(stretch) = self.stretches.iter_mut().find(|stretch| contains(stretch, second)) else { return };
        while stretch.signals.len() <= id {
            stretch.signals.push(SignalSeries { signal: series.signal.clone(), points: Vec::new() });
        }
        stretch.signals[id].points.push(point);
    }

    pub(crate) fn close(&mut self) {
        self.stretches.retain(|stretch| stretch.seconds.len() >= SECONDS_MIN);
    }

    pub(crate) fn finish(self) -> Vec<Stretch> {
        self.stretches
    }
}

/// The second after its last.
fn end(stretch: &Stretch) -> Option<u32> {
    stretch.seconds.last().map(|second| second.slice.slice + 1)
}

fn contains(stretch: &Stretch, second: u32) -> bool {
    stretch.seconds.first().is_some_and(|first| first.slice.slice <= second) && end(stretch).is_some_and(|end| second < end)
}

fn outline(slice: &Snapshot, names: &mut HashSet<Arc<str>>) -> KeptSecond {
    let mut all = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "", ""));
    let mut failures = Vec::new();
    for series in slice.series.iter().filter(|series| series.key.kind == SeriesKind::Request) {
        all.count += series.count;
        all.response.merge(&series.response);
        all.lag.merge(&series.lag);
        all.phases.merge(&series.phases);
        all.bytes_sent += series.bytes_sent;
        all.bytes_received += series.bytes_received;
        for (outcome, count) in series.outcomes.iter().filter(|(outcome, _)| outcome.is_failure()) {
            failures.push(KeptFailure { request: one_copy(names, &series.key.name), outcome: *outcome, count: *count });
        }
    }
    failures.shrink_to_fit();
    let mut outline = Snapshot {
        slice: slice.slice,
        start: slice.start,
        end: slice.end,
        series: vec![all],
        leaves: slice.leaves.clone(),
        generator: slice.generator.clone(),
        flows: slice.flows.clone(),
        ..Snapshot::default()
    };
    outline.pack();
    KeptSecond { slice: outline, failures }
}

/// Each line has its own definitions.
fn one_copy(names: &mut HashSet<Arc<str>>, name: &Arc<str>) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    names.insert(Arc::clone(name));
    Arc::clone(name)
}
