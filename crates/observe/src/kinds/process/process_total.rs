//! A total over counters of processes that start and end.

use std::collections::HashMap;

/// Sums growing counters of several owners. The last known count of an ended owner remains in the sum.
#[derive(Debug, Default)]
pub(crate) struct ProcessTotal {
    total: f64,
    /// Infinite: not read yet.
    last: HashMap<(u64, u64), f64>,
    has_seen_any: bool,
}

/// Maximum number of owners; beyond that all are forgotten, which appears as a jump.
const OWNERS_MAX: usize = 100_000;

impl ProcessTotal {
    /// `owner` is an id and its start time, so that a reused id is another owner.
    pub(crate) fn see(&mut self, owner: (u64, u64), value: f64) {
        if self.last.len() >= OWNERS_MAX {
            self.last.clear();
        }
        match self.last.insert(owner, value) {
            Some(before) => self.total += (value - before).max(0.0),
            // A new owner's count began at zero after the last reading; its whole value is growth.
            None => self.total += value,
        }
        self.has_seen_any = true;
    }

    /// An owner whose counter could not be read this time. If it is new, what it had counted until it can be read is unknown, and no growth.
    pub(crate) fn miss(&mut self, owner: (u64, u64)) {
        self.last.entry(owner).or_insert(f64::INFINITY);
    }

    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// Whether any counter could be read so far.
    pub(crate) fn has_seen_any(&self) -> bool {
        self.has_seen_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_may_come_go_and_come_again_with_the_same_id() {
        let mut tally = ProcessTotal::default();
        tally.see((1, 100), 5.0);
        tally.see((2, 100), 1.0);
        tally.see((1, 100), 7.0);
        assert!(tally.has_seen_any() && !ProcessTotal::default().has_seen_any());
        assert_eq!(tally.total(), 8.0);
        tally.see((1, 200), 0.5);
        assert_eq!(tally.total(), 8.5);
        tally.see((1, 200), 0.4);
        assert_eq!(tally.total(), 8.5);
    }

    #[test]
    fn a_failed_reading_is_absent_and_not_zero() {
        let mut tally = ProcessTotal::default();
        // The first reading fails: what was counted since the process began is not growth of this second.
        tally.miss((1, 100));
        assert!(!tally.has_seen_any());
        tally.see((1, 100), 5_000.0);
        tally.see((1, 100), 5_001.0);
        tally.miss((1, 100));
        tally.see((1, 100), 5_003.0);
        assert_eq!(tally.total(), 3.0);
    }
}
