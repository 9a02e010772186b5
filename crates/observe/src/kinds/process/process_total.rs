//! A total over counters of processes that start and end.

use std::collections::HashMap;

/// Sums growing counters of several owners. The last known count of an ended owner remains in the sum.
#[derive(Debug, Default)]
pub(crate) struct ProcessTotal {
    total: f64,
    last: HashMap<(u64, u64), f64>,
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
    }

    pub(crate) fn total(&self) -> f64 {
        self.total
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
        assert_eq!(tally.total(), 8.0);
        tally.see((1, 200), 0.5);
        assert_eq!(tally.total(), 8.5);
        tally.see((1, 200), 0.4);
        assert_eq!(tally.total(), 8.5);
    }
}
