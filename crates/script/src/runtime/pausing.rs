//! Total time of declared pauses. Overlapping pauses count once.

use loadstone_metrics::Nanos;

/// The pauses of one group, or of one iteration before its first request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pausing {
    running: u32,
    since: Nanos,
    /// When the last running pause was to end. The delay of a late timer is no pause.
    until: Nanos,
    over_ns: u64,
}

impl Pausing {
    /// A pause begins that will last until an instant.
    pub(super) fn began(&mut self, now: Nanos, until: Nanos) {
        if self.running == 0 {
            (self.since, self.until) = (now, until);
        }
        self.until = self.until.max(until);
        self.running += 1;
    }

    pub(super) fn ended(&mut self, now: Nanos) {
        if self.running == 1 {
            self.over_ns = self.lasted_ns(now);
        }
        self.running = self.running.saturating_sub(1);
    }

    /// Total pause until now. Nanoseconds.
    pub(super) fn lasted_ns(&self, now: Nanos) -> u64 {
        let running_ns = if self.running > 0 { now.min(self.until).saturating_sub(self.since) } else { 0 };
        self.over_ns + running_ns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For any pauses and timer delays: the first request is due no later than it can begin, and only declared pauses count as pauses.
        #[test]
        fn pauses_never_extend_into_the_future(
            pauses in proptest::collection::vec((0u64..100, 0u64..100, 0u64..5), 0..8), now in 0u64..220, lag in 0u64..50,
        ) {
            let begun = 1_000;
            let mut instants: Vec<(Nanos, usize, bool)> = Vec::new();
            for (index, (at, length, late)) in pauses.iter().enumerate() {
                instants.push((begun + at, index, true));
                instants.push((begun + at + length + late, index, false));
            }
            instants.sort_by_key(|(at, _, begins)| (*at, !begins));
            let now = begun + now;
            let mut pausing = Pausing::default();
            for (at, index, begins) in instants.into_iter().filter(|(at, ..)| *at <= now) {
                if begins { pausing.began(at, begun + pauses[index].0 + pauses[index].1) } else { pausing.ended(at) }
            }
            let lasted = pausing.lasted_ns(now);
            let due = begun - lag + lasted;
            prop_assert!(due <= now);
            // Computed separately: the instants in which a pause was declared to last, and those in which a late timer prolonged one.
            let in_any = |moment: Nanos, late: bool| pauses.iter().any(|(at, length, more)| {
                let end = begun + at + length + if late { *more } else { 0 };
                (begun + at..end).contains(&moment)
            });
            let count = |late: bool| (begun..now).filter(|moment| in_any(*moment, late)).count() as u64;
            prop_assert!((count(false)..=count(true)).contains(&lasted), "{} is not in {}..={}", lasted, count(false), count(true));
        }
    }
}
