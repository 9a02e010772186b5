//! How many were late, and by how much: counts beyond a ladder of levels.
//!
//! Parts of a second belong to several series, which a histogram's whole counts cannot express; and a bound looks at a few dozen levels, not at
//! thousands of buckets.

use loadstone_metrics::Histogram;

/// Levels, each √2 times the one before: from 16 µs to 3 minutes.
const LEVELS: usize = 48;
const LOWEST_NS: f64 = 16_000.0;

/// Expected numbers of those that were later than each level.
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
    /// Of recorded latenesses.
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

    /// Adds a multiple of another, each level changed by `change`.
    pub(super) fn add(&mut self, other: &LatenessLadder, change: impl Fn(f64) -> f64) {
        self.beyond.iter_mut().zip(&other.beyond).for_each(|(mine, theirs)| *mine += change(*theirs));
    }

    pub(super) fn scaled(mut self, times: f64) -> Self {
        self.beyond.iter_mut().for_each(|beyond| *beyond *= times);
        self
    }

    /// `(level in nanoseconds, how many were later)`, ascending, up to the first level that none was later than.
    pub(super) fn levels(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let last = self.beyond.iter().position(|beyond| *beyond <= 0.0).unwrap_or(LEVELS - 1);
        self.beyond[..=last].iter().enumerate().map(|(level, beyond)| (level_ns(level), *beyond))
    }

    /// How many were later than a lateness, read at the level at or below it.
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
    fn counts_stand_at_every_level_below_what_was_recorded() {
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
