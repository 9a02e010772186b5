//! When the load began and ended, and the time span of a rate. Definitions: docs/metrics.md, "Counts" and "Thresholds".

use std::sync::Arc;

use loadstone_metrics::{LeafChange, Nanos, Snapshot};

/// The start and end of each leaf's load. Runs of earlier versions do not record them.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadTimes {
    leaves: Vec<LeafTime>,
}

#[derive(Debug, Clone)]
struct LeafTime {
    leaf: u32,
    scenario: Arc<str>,
    began: Nanos,
    ended: Option<Nanos>,
}

/// The load of one scenario, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LoadTime {
    /// `None`: unknown.
    pub(crate) began: Option<Nanos>,
    /// When the last part of it ended; `None` while any part is in progress, or when it is unknown.
    pub(crate) ended: Option<Nanos>,
}

impl LoadTimes {
    /// Takes the next slice, before any of its content is judged.
    pub(crate) fn push(&mut self, slice: &Snapshot) {
        for leaf in &slice.leaves {
            for change in &leaf.changes {
                match change {
                    LeafChange::Began { at, scenario } => {
                        self.leaves.push(LeafTime { leaf: leaf.leaf, scenario: Arc::clone(scenario), began: *at, ended: None });
                    }
                    LeafChange::LoadEnded { at } => {
                        if let Some(known) = self.leaves.iter_mut().rfind(|known| known.leaf == leaf.leaf) {
                            known.ended = Some(*at);
                        }
                    }
                    LeafChange::Scaled { .. } => {}
                }
            }
        }
    }

    /// `None`: all scenarios together.
    pub(crate) fn of(&self, scenario: Option<&str>) -> LoadTime {
        let leaves = || self.leaves.iter().filter(|leaf| scenario.is_none_or(|name| *leaf.scenario == *name));
        let over = leaves().all(|leaf| leaf.ended.is_some());
        let ended = if over { leaves().filter_map(|leaf| leaf.ended).max() } else { None };
        LoadTime { began: leaves().map(|leaf| leaf.began).min(), ended }
    }
}

impl LoadTime {
    /// Whether the load covered the whole slice.
    pub(crate) fn covers(self, slice: &Snapshot) -> bool {
        self.began.is_some_and(|began| began <= slice.start) && self.ended.is_none_or(|ended| slice.end <= ended)
    }
}

/// The time span of a rate, and the number of events that ended in it. It runs from the first second in which anything ended to the end of
/// the load, and continues as long as something ended in every second. Events after a gap were stragglers: their wait is not part of the
/// rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateSpan {
    start: Option<Nanos>,
    /// When the load began, as known in the first second.
    load_began: Option<Nanos>,
    last: SpanEnd,
    counted: u64,
    /// Events after the load and a gap. They count once more load follows.
    stragglers: u64,
}

/// The last second that counts.
#[derive(Debug, Clone, Copy, Default)]
struct SpanEnd {
    start: Nanos,
    end: Nanos,
    /// When the load ended, if it had ended by then.
    load_ended: Option<Nanos>,
}

impl RateSpan {
    /// Adds a slice in which `count` events ended. `load`: the load's times as known at the end of the slice.
    pub(crate) fn push(&mut self, (start, end): (Nanos, Nanos), count: u64, load: LoadTime) {
        if count == 0 {
            return;
        }
        let is_after_load = load.ended.is_some_and(|ended| ended <= start);
        if is_after_load && self.start.is_some() && start > self.last.end {
            self.stragglers += count;
            return;
        }
        if self.start.is_none() {
            self.load_began = load.began;
        }
        self.start.get_or_insert_with(|| load.began.filter(|began| (start..end).contains(began)).unwrap_or(start));
        self.counted += count + std::mem::take(&mut self.stragglers);
        self.last = SpanEnd { start, end, load_ended: load.ended };
    }

    /// Events per second; `None` without a time span. `mean_ns`: the average duration of one event. Events in progress when the load ended
    /// took about that long; the rest of their second was idle.
    pub(crate) fn rate(&self, mean_ns: f64) -> Option<f64> {
        let SpanEnd { start, end, load_ended } = self.last;
        let idle_from = load_ended.filter(|ended| *ended >= start).map_or(end, |ended| ended.saturating_add(mean_ns.max(0.0) as Nanos));
        let end = end.min(idle_from);
        // Events of one short second were in progress before it, but not before the load.
        let earliest = self.load_began.unwrap_or(Nanos::MAX).max(end.saturating_sub(mean_ns.max(0.0) as Nanos));
        let ns = end.checked_sub(self.start?.min(earliest)).filter(|ns| *ns > 0)?;
        Some(self.counted as f64 / (ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;

    fn second(number: u64) -> (Nanos, Nanos) {
        (number * S, (number + 1) * S)
    }

    fn load(from: Nanos, to: Option<Nanos>) -> LoadTime {
        LoadTime { began: Some(from), ended: to }
    }

    /// 50/s from second 0 to 9, then the late events in `rest`.
    fn rate_of(rest: &[(u64, u64)]) -> f64 {
        let mut span = RateSpan::default();
        (0..10).for_each(|number| span.push(second(number), 50, load(0, (number == 9).then_some(10 * S))));
        rest.iter().for_each(|(number, count)| span.push(second(*number), *count, load(0, Some(10 * S))));
        span.rate(10e6).unwrap()
    }

    #[test]
    fn a_straggler_does_not_extend_the_span_of_a_rate_but_a_draining_queue_does() {
        assert_eq!(rate_of(&[]), 50.0);
        assert_eq!(rate_of(&[(24, 1)]), 50.0);
        // The queue takes ten more seconds to drain.
        assert_eq!(rate_of(&[10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map(|number| (number, 50))), 50.0);
        assert_eq!(rate_of(&[(10, 100), (11, 100)]), 700.0 / 12.0);
    }

    #[test]
    fn two_timeouts_at_the_end_are_no_high_rate() {
        let mut span = RateSpan::default();
        span.push((5 * S, 5 * S + 8_800_000), 2, load(0, Some(2 * S)));
        assert_eq!(span.rate(5e9), Some(2.0 / 5.0));
        // Not before the load began.
        let mut span = RateSpan::default();
        span.push((5 * S, 5 * S + 8_800_000), 2, load(3 * S, Some(4 * S)));
        assert_eq!(span.rate(5e9), Some(2.0 / 2.0088));
    }

    #[test]
    fn the_last_second_of_the_load_counts_only_as_far_as_it_was_used() {
        let mut span = RateSpan::default();
        span.push(second(0), 49, load(S / 50, None));
        span.push(second(1), 1, load(S / 50, Some(S + S / 50)));
        assert_eq!(span.rate(0.0), Some(50.0));
        assert_eq!(span.rate(0.5e9), Some(50.0 / 1.5));
        // Never beyond the measured time.
        assert_eq!(span.rate(5e9), Some(50.0 / 1.98));
    }

    #[test]
    fn stragglers_count_when_more_load_follows() {
        let mut span = RateSpan::default();
        span.push(second(0), 10, load(0, Some(S)));
        span.push(second(5), 10, load(0, Some(S)));
        span.push(second(9), 10, load(0, None));
        assert_eq!(span.rate(0.0), Some(3.0));
    }

    #[test]
    fn without_known_load_times_the_span_is_from_the_first_to_the_last_event() {
        let mut span = RateSpan::default();
        span.push(second(2), 10, LoadTime::default());
        span.push(second(5), 10, LoadTime::default());
        assert_eq!((span.rate(0.0), RateSpan::default().rate(0.0)), (Some(5.0), None));
    }
}
