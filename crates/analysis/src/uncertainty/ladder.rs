//! Counts of late events beyond each of a ladder of lateness levels.
//!
//! The lateness of one second is divided among several series, which the whole counts of a histogram cannot express. A bound also needs a
//! few dozen levels, not thousands of buckets.

use loadstone_metrics::Histogram;

/// Number of levels, each √2 times the previous one: from 16 µs to 3 minutes.
const LEVELS: usize = 48;
const LOWEST_NS: f64 = 16_000.0;

/// For each level, the expected number of events that were later.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LatenessLadder {
    beyond: [f64; LEVELS],
}

impl Default for LatenessLadder {
    fn default() -> Self {
        Self { beyond: [0.0; LEVELS] }
    }
}

pub(super) fn level_ns(level: usize) -> f64 {
    LOWEST_NS * 2f64.powf(level as f64 / 2.0)
}

impl LatenessLadder {
    /// Builds the ladder from recorded lateness.
    pub(crate) fn of(lateness: &Histogram) -> Self {
        let mut ladder = Self::default();
        for (_, high, count) in lateness.bars() {
            ladder.add_up_to(high as f64, |_| count as f64);
        }
        ladder
    }

    /// Adds `count(level)` to every level below a lateness.
    pub(super) fn add_up_to(&mut self, lateness_ns: f64, count: impl Fn(f64) -> f64) {
        for (level, beyond) in self.beyond.iter_mut().enumerate() {
            let at = level_ns(level);
            if at >= lateness_ns {
                break;
            }
            *beyond += count(at);
        }
    }

    /// Adds another ladder, with `change` applied to the count of each level.
    pub(super) fn add(&mut self, other: &LatenessLadder, change: impl Fn(f64) -> f64) {
        self.beyond.iter_mut().zip(&other.beyond).for_each(|(mine, theirs)| *mine += change(*theirs));
    }

    pub(super) fn scaled(mut self, times: f64) -> Self {
        self.beyond.iter_mut().for_each(|beyond| *beyond *= times);
        self
    }

    /// `(level in nanoseconds, number of later events)`, ascending, up to the first level that no event exceeded.
    pub(super) fn levels(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let last = self.beyond.iter().position(|beyond| *beyond <= 0.0).unwrap_or(LEVELS - 1);
        self.beyond[..=last].iter().enumerate().map(|(level, beyond)| (level_ns(level), *beyond))
    }

    /// The number of events later than a lateness, taken from the level at or below it.
    pub(super) fn beyond(&self, lateness_ns: f64) -> f64 {
        let at = (0..LEVELS).rev().find(|level| level_ns(*level) <= lateness_ns);
        self.beyond[at.unwrap_or(0)]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.beyond[0] <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_below_a_recorded_lateness_counts_it() {
        let mut lateness = Histogram::new();
        lateness.record_n(20_000, 5);
        lateness.record_n(1_000_000, 2);
        let ladder = LatenessLadder::of(&lateness);
        assert_eq!((ladder.beyond(16_000.0), ladder.beyond(30_000.0), ladder.beyond(900_000.0), ladder.beyond(2e6)), (7.0, 2.0, 2.0, 0.0));
        let last = ladder.levels().last().unwrap();
        assert!(last.0 >= 1_000_000.0 && last.0 < 1_500_000.0 && last.1 == 0.0, "{last:?}");
    }

    #[test]
    fn the_highest_level_is_minutes() {
        assert!(level_ns(LEVELS - 1) > 180e9);
    }
}
