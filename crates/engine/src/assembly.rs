//! Merges the workers' snapshots of the same second, and hands them on in order.

use std::collections::BTreeMap;

use metrics::{Mark, MarkKind, Nanos, Snapshot};

use crate::messages::SNAPSHOT_NS;
use crate::series_bound::SeriesBound;

/// A snapshot is handed on without a worker's part when that part is this late.
const LATE_NS: Nanos = 3 * SNAPSHOT_NS;

/// Snapshots that do not yet have every worker's part.
pub(crate) struct SnapshotAssembly {
    workers: usize,
    /// By number: what has come so far, and from how many workers.
    partial: BTreeMap<u32, (Snapshot, usize)>,
    series: SeriesBound,
}

impl SnapshotAssembly {
    pub(crate) fn new(workers: usize, series_max: u32) -> Self {
        Self { workers, partial: BTreeMap::new(), series: SeriesBound::new(series_max) }
    }

    /// Adds one worker's part of a second.
    pub(crate) fn add(&mut self, snapshot: Snapshot) {
        match self.partial.get_mut(&snapshot.slice) {
            Some((merged, workers)) => {
                merged.merge(snapshot);
                *workers += 1;
            }
            None => {
                self.partial.insert(snapshot.slice, (snapshot, 1));
            }
        }
    }

    /// The oldest snapshot, where it has every worker's part.
    pub(crate) fn take_complete(&mut self) -> Option<Box<Snapshot>> {
        let entry = self.partial.first_entry().filter(|entry| entry.get().1 >= self.workers)?;
        let (snapshot, _) = entry.remove();
        Some(self.bounded(snapshot))
    }

    /// The oldest snapshot, where a worker's part of it is overdue: one stuck worker must not blind the others.
    pub(crate) fn take_late(&mut self, now: Nanos) -> Option<Box<Snapshot>> {
        let entry = self.partial.first_entry().filter(|entry| entry.get().0.end + LATE_NS <= now)?;
        let (mut snapshot, workers) = entry.remove();
        let silent = self.workers.saturating_sub(workers);
        // None: every part is there, and only the collector was late.
        if silent > 0 {
            let text = format!("{silent} of {} workers were silent for this second", self.workers);
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Warning, text });
        }
        Some(self.bounded(snapshot))
    }

    /// The oldest snapshot, complete or not, and whether it was the last.
    pub(crate) fn take_rest(&mut self) -> Option<(Box<Snapshot>, bool)> {
        let (_, (snapshot, _)) = self.partial.pop_first()?;
        Some((self.bounded(snapshot), self.partial.is_empty()))
    }

    /// As small as it goes, and with no more series than the run keeps apart.
    fn bounded(&mut self, mut snapshot: Snapshot) -> Box<Snapshot> {
        self.series.hold(&mut snapshot);
        snapshot.pack();
        Box::new(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Recorder;

    const S: Nanos = SNAPSHOT_NS;

    fn part(worker: u32, number: u32) -> Snapshot {
        let begin = Nanos::from(number) * S;
        Recorder::new(worker, 10).drain(number, begin, begin + S)
    }

    #[test]
    fn snapshots_are_handed_on_in_order_once_every_part_is_there() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(part(0, 0));
        assembly.add(part(0, 1));
        assembly.add(part(1, 1));
        assert!(assembly.take_complete().is_none(), "the second one must not overtake the first");
        assembly.add(part(1, 0));
        let numbers: Vec<u32> = std::iter::from_fn(|| assembly.take_complete()).map(|snapshot| snapshot.slice).collect();
        assert_eq!(numbers, [0, 1]);
    }

    #[test]
    fn a_silent_worker_holds_a_snapshot_up_for_three_seconds() {
        let mut assembly = SnapshotAssembly::new(3, 10);
        assembly.add(part(0, 0));
        assembly.add(part(2, 0));
        assert!(assembly.take_late(4 * S - 1).is_none());
        let late = assembly.take_late(4 * S).unwrap();
        assert_eq!(late.marks.iter().map(|mark| &*mark.text).collect::<Vec<_>>(), ["1 of 3 workers were silent for this second"]);
        assert!(assembly.take_rest().is_none());
    }

    #[test]
    fn nobody_was_silent_where_only_the_collector_is_late() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(part(0, 0));
        assembly.add(part(1, 0));
        assert!(assembly.take_late(9 * S).unwrap().marks.is_empty());
    }

    #[test]
    fn the_last_of_the_rest_is_known_as_such() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        for number in [4, 2, 3] {
            assembly.add(part(0, number));
        }
        let rest: Vec<(u32, bool)> =
            std::iter::from_fn(|| assembly.take_rest()).map(|(snapshot, is_last)| (snapshot.slice, is_last)).collect();
        assert_eq!(rest, [(2, false), (3, false), (4, true)]);
    }
}
