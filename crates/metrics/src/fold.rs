//! Folds several seconds into one: the form in which long runs keep their older seconds, and in which they are read.
//!
//! No count or time is lost: counts add up and histograms merge, so every percentile of the whole stays the same. Only the assignment to single
//! seconds is lost.

use crate::snapshot::{ErrorGroup, GeneratorSlice, LeafSlice, MarkKind, Snapshot};

impl Snapshot {
    /// Number of seconds it holds.
    pub fn seconds(&self) -> u32 {
        self.folded + 1
    }

    /// Whether the load began, ended or changed in it. Rates and windows depend on the exact time of these events.
    pub fn is_edge(&self) -> bool {
        let is_edge = |kind| matches!(kind, MarkKind::LeafBegan | MarkKind::LeafEnded | MarkKind::LoadEnded | MarkKind::Drained);
        self.leaves.iter().any(|leaf| !leaf.changes.is_empty() || leaf.exhausted) || self.marks.iter().any(|mark| is_edge(mark.kind))
    }

    /// Adds a later slice of the same run. Counts and times add up; levels are those of the later slice.
    pub fn extend(&mut self, later: Snapshot) {
        self.folded += later.seconds();
        for theirs in &later.leaves {
            match self.leaves.iter_mut().find(|mine| mine.leaf == theirs.leaf) {
                Some(mine) => mine.extend(theirs),
                None => self.leaves.push(theirs.clone()),
            }
        }
        for theirs in &later.generator {
            match self.generator.iter_mut().find(|mine| mine.worker == theirs.worker) {
                Some(mine) => mine.extend(theirs),
                None => self.generator.push(theirs.clone()),
            }
        }
        self.merge(Snapshot { leaves: Vec::new(), generator: Vec::new(), ..later });
        self.bound_errors();
    }

    /// Errors beyond the bound are counted together.
    fn bound_errors(&mut self) {
        if self.errors.len() <= Self::FOLDED_ERRORS_MAX {
            return;
        }
        let (mut others, mut kept): (Vec<ErrorGroup>, Vec<ErrorGroup>) =
            std::mem::take(&mut self.errors).into_iter().partition(|error| error.is_rest);
        // The most frequent errors stay separate, in their order.
        let mut counts: Vec<u64> = kept.iter().map(|error| error.count).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let least = counts.get(Self::FOLDED_ERRORS_MAX - 1).copied().unwrap_or(0);
        let mut room = Self::FOLDED_ERRORS_MAX - 1;
        kept.retain(|error| {
            let stays = error.count >= least && room > 0;
            room -= usize::from(stays);
            if !stays {
                others.push(error.clone());
            }
            stays
        });
        self.errors = kept;
        let mut others = others.into_iter();
        if let Some(mut together) = others.next().map(ErrorGroup::into_rest) {
            others.for_each(|error| together.merge(&ErrorGroup { samples: Vec::new(), ..error }));
            self.errors.push(together);
        }
    }
}

impl LeafSlice {
    /// The most arrivals that waited at the end of any of its seconds.
    pub fn waiting_most(&self) -> u64 {
        self.waiting.max(self.waiting_peak)
    }

    fn extend(&mut self, later: &LeafSlice) {
        self.waiting_peak = self.waiting_most().max(later.waiting_most());
        self.waiting = later.waiting;
        (self.users_asked, self.users_active) = (later.users_asked, later.users_active);
        self.users_peak = self.users_peak.max(later.users_peak).max(later.users_active);
        self.arrivals_due += later.arrivals_due;
        self.started += later.started;
        self.ended += later.ended;
        self.failed += later.failed;
        self.interrupted += later.interrupted;
        self.held_back += later.held_back;
        self.active_ns += later.active_ns;
        self.exhausted |= later.exhausted;
        self.changes.extend_from_slice(&later.changes);
    }
}

impl GeneratorSlice {
    fn extend(&mut self, later: &GeneratorSlice) {
        self.wall_ns += later.wall_ns;
        self.busy_ns += later.busy_ns;
        self.run_queue_ns += later.run_queue_ns;
        self.steal_ns += later.steal_ns;
        self.throttled_ns += later.throttled_ns;
        self.in_flight_ns += later.in_flight_ns;
        self.timer_lag.merge(&later.timer_lag);
        self.read_lag.merge(&later.read_lag);
        self.stalls.merge(&later.stalls);
        self.collections.merge(&later.collections);
        self.connections = later.connections;
        self.connections_opened += later.connections_opened;
        self.tls_handshakes += later.tls_handshakes;
        self.tls_resumed += later.tls_resumed;
        self.bytes_received += later.bytes_received;
        self.retransmits += later.retransmits;
        self.syn_retransmits += later.syn_retransmits;
        self.raw_ns += later.raw_ns;
        self.lacks_kernel_counters |= later.lacks_kernel_counters;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, LeafChange, Outcome, SeriesKey, SeriesKind, SeriesSlice};

    fn second(number: u32, times: &[u64], waiting: u64, active: u64) -> Snapshot {
        let mut series = SeriesSlice::new(SeriesKey::new(SeriesKind::Request, "Shop", "List"));
        series.count = times.len() as u64;
        series.outcomes = vec![(Outcome::Passed, times.len() as u64)];
        times.iter().for_each(|time| series.response.record(*time));
        let begin = u64::from(number) * 1_000_000_000;
        let leaf = LeafSlice { waiting, users_active: active, users_peak: active, started: times.len() as u64, ..LeafSlice::default() };
        let generator = GeneratorSlice { wall_ns: 1_000_000_000, connections: active, ..GeneratorSlice::default() };
        Snapshot {
            slice: number,
            start: begin,
            end: begin + 1_000_000_000,
            series: vec![series],
            leaves: vec![leaf],
            generator: vec![generator],
            ..Snapshot::default()
        }
    }

    #[test]
    fn counts_and_times_add_up_and_the_last_levels_win() {
        let mut minute = second(60, &[10, 20], 5, 9);
        minute.extend(second(61, &[30], 0, 4));
        minute.extend(second(62, &[40_000], 2, 3));
        let mut all = Histogram::new();
        [10, 20, 30, 40_000].into_iter().for_each(|time| all.record(time));
        assert_eq!(minute.series[0].response, all);
        assert_eq!((minute.slice, minute.seconds(), minute.end), (60, 3, 63_000_000_000));
        let leaf = &minute.leaves[0];
        assert_eq!((leaf.waiting, leaf.waiting_most(), leaf.users_active, leaf.users_peak, leaf.started), (2, 5, 3, 9, 4));
        assert_eq!((minute.generator.len(), minute.generator[0].wall_ns, minute.generator[0].connections), (1, 3_000_000_000, 3));
    }

    #[test]
    fn errors_past_the_bound_are_counted_together() {
        let error = |n: usize| {
            let key = SeriesKey::new(SeriesKind::Request, "Shop", "List");
            let error = ErrorGroup::new(key, Outcome::Status, &format!("error {n}"), n as u64);
            ErrorGroup { count: if n == 7 { 50 } else { 1 }, ..error }
        };
        let with = |numbers: std::ops::Range<usize>| Snapshot { errors: numbers.map(error).collect(), ..Snapshot::default() };
        let mut minute = with(0..80);
        (1..20).for_each(|n| minute.extend(with(80 * n..80 * (n + 1))));
        assert_eq!(minute.errors.len(), 1_600, "all stay separate");
        (20..30).for_each(|n| minute.extend(with(80 * n..80 * (n + 1))));
        assert_eq!(minute.errors.len(), Snapshot::FOLDED_ERRORS_MAX);
        assert_eq!(minute.errors.iter().map(|error| error.count).sum::<u64>(), 2_400 + 49);
        assert!(minute.errors.iter().any(|error| error.count == 50 && &*error.message == "error 7"));
    }

    #[test]
    fn a_second_in_which_the_load_changes_is_an_edge() {
        let mut second = second(0, &[], 0, 0);
        assert!(!second.is_edge());
        second.leaves[0].changes.push(LeafChange::LoadEnded { at: 1 });
        assert!(second.is_edge());
    }
}
