//! Merges the workers' snapshots of the same second, and forwards them in order.

use std::collections::{BTreeMap, BTreeSet};

use loadstone_metrics::{Mark, MarkKind, Nanos, Snapshot};

use crate::messages::SNAPSHOT_NS;
use crate::series_bound::SeriesBound;

/// A snapshot is forwarded without a worker's part when that part is this late.
const PART_OVERDUE_NS: Nanos = 3 * SNAPSHOT_NS;

/// Snapshots that do not have every worker's part yet. A "worker" is any sender of parts, including an agent of a fleet.
pub(crate) struct SnapshotAssembly {
    workers: BTreeSet<usize>,
    whole: usize,
    /// The user-visible noun for a sender of parts.
    noun: &'static str,
    /// By second: the parts so far, merged, and the workers that sent them.
    partial: BTreeMap<u32, (Snapshot, BTreeSet<usize>)>,
    /// The first second that was not forwarded yet.
    next: u32,
    /// Late parts of seconds that were already forwarded.
    late: Option<Snapshot>,
    series: SeriesBound,
}

impl SnapshotAssembly {
    pub(crate) fn new(workers: usize, series_max: u32) -> Self {
        let series = SeriesBound::new(series_max);
        Self { workers: (0..workers).collect(), whole: workers, noun: "workers", partial: BTreeMap::new(), next: 0, late: None, series }
    }

    /// An assembly for the agents of a fleet.
    pub(crate) fn of_agents(agents: usize, series_max: u32) -> Self {
        Self { noun: "agents", ..Self::new(agents, series_max) }
    }

    /// Adds one worker's part of a second. If that second was already forwarded without it, the part is added to the next one. It is then late, but
    /// neither lost nor counted twice.
    pub(crate) fn add(&mut self, worker: usize, mut snapshot: Snapshot) {
        if snapshot.slice < self.next {
            let text = format!("part of second {} arrived late and is counted here", snapshot.slice);
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Warning, text });
            match &mut self.late {
                Some(late) => late.merge(snapshot),
                None => self.late = Some(snapshot),
            }
            return;
        }
        match self.partial.get_mut(&snapshot.slice) {
            Some((merged, from)) => {
                merged.merge(snapshot);
                from.insert(worker);
            }
            None => {
                self.partial.insert(snapshot.slice, (snapshot, BTreeSet::from([worker])));
            }
        }
    }

    /// Whether a part of a later second waits to be forwarded.
    pub(crate) fn has_parts(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Takes the number of a second without any parts.
    pub(crate) fn take_number(&mut self, at: Nanos) -> u32 {
        let number = self.next.max((at / SNAPSHOT_NS) as u32);
        self.next = number + 1;
        number
    }

    /// Number of the first second that was not forwarded yet.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Expects no more parts from this worker. Seconds are complete without it.
    pub(crate) fn lose(&mut self, worker: usize) {
        self.workers.remove(&worker);
    }

    /// The oldest snapshot, if it has every worker's part.
    pub(crate) fn take_complete(&mut self) -> Option<Box<Snapshot>> {
        let entry = self.partial.first_entry().filter(|entry| entry.get().1.is_superset(&self.workers))?;
        let (snapshot, _) = entry.remove();
        Some(self.finished(snapshot))
    }

    /// The oldest snapshot, if a worker's part of it is overdue. One stuck worker must not hide the others.
    pub(crate) fn take_late(&mut self, now: Nanos) -> Option<Box<Snapshot>> {
        let entry = self.partial.first_entry().filter(|entry| entry.get().0.end + PART_OVERDUE_NS <= now)?;
        let (mut snapshot, from) = entry.remove();
        let silent = self.workers.difference(&from).count();
        // Zero silent workers: every part has arrived, and only this collector was late.
        if silent > 0 {
            let text = format!("{silent} of {} {} were silent for this second", self.whole, self.noun);
            snapshot.marks.push(Mark { at: snapshot.end, kind: MarkKind::Warning, text });
        }
        Some(self.finished(snapshot))
    }

    /// The oldest snapshot, complete or not, and whether it is the last.
    pub(crate) fn take_rest(&mut self) -> Option<(Box<Snapshot>, bool)> {
        let snapshot = match self.partial.pop_first() {
            Some((_, (snapshot, _))) => snapshot,
            // The late part's own second is over, so the part goes into a snapshot of length zero.
            None => self.late.take().map(|late| Snapshot { slice: self.next, start: late.end, ..late })?,
        };
        let snapshot = self.finished(snapshot);
        Some((snapshot, self.partial.is_empty()))
    }

    /// Adds the late parts, compacts the snapshot, and limits its series to those that the run keeps apart.
    fn finished(&mut self, mut snapshot: Snapshot) -> Box<Snapshot> {
        self.next = snapshot.slice + 1;
        if let Some(late) = self.late.take() {
            snapshot.merge(Snapshot { start: snapshot.start, end: snapshot.end, ..late });
        }
        self.series.hold(&mut snapshot);
        snapshot.pack();
        Box::new(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_metrics::Recorder;

    const S: Nanos = SNAPSHOT_NS;

    fn part(worker: u32, number: u32) -> Snapshot {
        let begin = Nanos::from(number) * S;
        Recorder::new(worker, 10).drain(number, begin, begin + S)
    }

    #[test]
    fn complete_snapshots_are_forwarded_in_order() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(0, part(0, 0));
        assembly.add(0, part(0, 1));
        assembly.add(1, part(1, 1));
        assert!(assembly.take_complete().is_none(), "the second one must not overtake the first");
        assembly.add(1, part(1, 0));
        let numbers: Vec<u32> = std::iter::from_fn(|| assembly.take_complete()).map(|snapshot| snapshot.slice).collect();
        assert_eq!(numbers, [0, 1]);
    }

    #[test]
    fn a_silent_worker_delays_a_snapshot_for_three_seconds() {
        let mut assembly = SnapshotAssembly::new(3, 10);
        assembly.add(0, part(0, 0));
        assembly.add(2, part(2, 0));
        assert!(assembly.take_late(4 * S - 1).is_none());
        let late = assembly.take_late(4 * S).unwrap();
        assert_eq!(late.marks.iter().map(|mark| &*mark.text).collect::<Vec<_>>(), ["1 of 3 workers were silent for this second"]);
        assert!(assembly.take_rest().is_none());
    }

    #[test]
    fn no_worker_is_silent_if_only_the_collector_is_late() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(0, part(0, 0));
        assembly.add(1, part(1, 0));
        assert!(assembly.take_late(9 * S).unwrap().marks.is_empty());
    }

    #[test]
    fn the_last_of_the_rest_is_marked_as_last() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        for number in [4, 2, 3] {
            assembly.add(0, part(0, number));
        }
        let rest: Vec<(u32, bool)> =
            std::iter::from_fn(|| assembly.take_rest()).map(|(snapshot, is_last)| (snapshot.slice, is_last)).collect();
        assert_eq!(rest, [(2, false), (3, false), (4, true)]);
    }

    fn counted(worker: u32, number: u32, started: u64) -> Snapshot {
        let mut snapshot = part(worker, number);
        snapshot.leaves.push(loadstone_metrics::LeafSlice { started, ..loadstone_metrics::LeafSlice::default() });
        snapshot
    }

    #[test]
    fn a_late_part_is_counted_once_in_the_next_second() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(0, counted(0, 0, 1));
        assert_eq!(assembly.take_late(4 * S).unwrap().leaves[0].started, 1);
        assembly.add(1, counted(1, 0, 20));
        assert!(assembly.take_complete().is_none(), "a late part is not a separate second");
        assembly.add(0, counted(0, 1, 300));
        assembly.add(1, counted(1, 1, 4_000));
        let next = assembly.take_complete().unwrap();
        assert_eq!((next.slice, next.start, next.end, next.leaves[0].started), (1, S, 2 * S, 4_320));
        assert_eq!(next.marks[0].text, "part of second 0 arrived late and is counted here");
    }

    #[test]
    fn a_part_after_the_last_second_is_forwarded_as_the_rest() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(0, counted(0, 0, 1));
        assembly.take_late(4 * S).unwrap();
        assembly.add(1, counted(1, 0, 20));
        let (rest, is_last) = assembly.take_rest().unwrap();
        assert_eq!((rest.slice, rest.leaves[0].started, is_last), (1, 20, true));
        assert!(assembly.take_rest().is_none());
    }

    #[test]
    fn seconds_are_complete_without_a_lost_worker_and_keep_its_parts() {
        let mut assembly = SnapshotAssembly::new(2, 10);
        assembly.add(1, counted(1, 0, 20));
        assembly.lose(1);
        assert!(assembly.take_complete().is_none(), "the other worker's part has not arrived yet");
        assembly.add(0, counted(0, 0, 1));
        assert_eq!(assembly.take_complete().unwrap().leaves[0].started, 21);
    }
}
